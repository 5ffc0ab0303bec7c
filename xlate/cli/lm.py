"""xlate lm text=T order=5 out=LM.arpa.gz: a language model of plain tokenised text."""

from __future__ import annotations

from xlate.config.schema import LmCommandConfig

CONFIG = LmCommandConfig


def run(config: LmCommandConfig) -> None:
    """Estimates a modified Kneser-Ney model, writes it as ARPA and, when asked, prints the perplexity of a text."""
    from xlate.lm.arpa import write_arpa
    from xlate.lm.kneser_ney import estimate
    from xlate.text.encoded import EncodedText
    from xlate.text.lines import read_lines
    from xlate.text.tokens import split_tokens
    from xlate.text.vocabulary import Vocabulary, check_reserved

    sentences: list[list[str]] = []
    for path in config.text:
        words = [split_tokens(line) for line in read_lines(path)]
        check_reserved(words, [path])
        sentences += words
    vocabulary = Vocabulary.build(sentences)
    arpa = estimate(EncodedText.encode(sentences, vocabulary), vocabulary, config.order)
    write_arpa(config.out, arpa)
    if config.perplexity is not None:
        from xlate.lm.model import NgramModel, perplexity

        print(perplexity(NgramModel.from_arpa(arpa), [split_tokens(line) for line in read_lines(config.perplexity)]))
