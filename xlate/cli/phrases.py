"""xlate phrases source=S target=T links=LINKS out=phrase-table.gz: a Moses phrase table."""

from __future__ import annotations

from xlate.config.schema import PhrasesCommandConfig

CONFIG = PhrasesCommandConfig


def run(config: PhrasesCommandConfig) -> None:
    """Extracts and scores the phrase pairs of two tokenised files and their links, in Moses format."""
    from xlate.align.lexical import lexical_table
    from xlate.align.links import read_links
    from xlate.formats.moses_table import write_phrase_table
    from xlate.phrases.extract import extract_phrases
    from xlate.phrases.table import score_phrases
    from xlate.text.encoded import EncodedText
    from xlate.text.lines import read_parallel
    from xlate.text.tokens import split_tokens
    from xlate.text.vocabulary import Vocabulary, check_reserved

    sides = read_parallel(config.source, config.target)
    source, target = ([split_tokens(line) for line in lines] for lines in sides)
    check_reserved(source, [config.source])
    check_reserved(target, [config.target])
    links = read_links(config.links, [len(s) for s in source], [len(t) for t in target])
    vocabularies = Vocabulary.build(source), Vocabulary.build(target)
    texts = EncodedText.encode(source, vocabularies[0]), EncodedText.encode(target, vocabularies[1])
    counts = extract_phrases(*texts, links, max_length=config.max_length)
    table = score_phrases(counts, lexical_table(*texts, links))
    write_phrase_table(config.out, table, *vocabularies)
