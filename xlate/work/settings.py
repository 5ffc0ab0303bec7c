"""The settings of a work directory: its corpus, and how it is aligned, extracted and counted."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.settings import COUNT, ORDER, PHRASE_LENGTH, SEED, SENTENCES, SHARE, Range, key


@dataclass
class DemoCorpusConfig:
    """Size and seed of the built-in corpus."""

    seed: int = key("of the sentences drawn", 1, SEED)
    train: int = key("training pairs", 4000, SENTENCES)
    dev: int = key("dev sentences", 300, SENTENCES)
    test: int = key("test sentences", 300, SENTENCES)
    factored: bool = key("write it with word classes and documents too", False)


class _DataKeys:
    """A corpus consists of files unless it is generated."""

    generated: DemoCorpusConfig | None = None


@dataclass
class DataConfig(_DataKeys):
    """Parallel text; `{root}`, `{source}` and `{target}` in file names stand for XLATE_DATA and the two languages."""

    name: str = key("what the work directory is called")
    pair: str = key("languages, SOURCE-TARGET, such as de-en")
    root: str | None = key("what {root} stands for", None)
    train_source: list[str] = key("files of the source side")
    train_target: list[str] = key("files of the target side, line by line beside them")
    dev_source: str | None = key("source of the dev set", None)
    dev_references: list[str] = key("its references", [])
    test_source: str | None = key("source of the test set", None)
    test_references: list[str] = key("its references", [])
    lm_text: list[str] = key("more text for the language model", [])
    tokenize: bool = key("cut lines into tokens; false: tokens are between blanks", True)
    case: str = key("true (truecased), lower, or keep", "true")
    max_words: int = key("pairs with a longer side are left out", 100, COUNT)
    max_sentences: int | None = key("the first so many training pairs; null for all", None, COUNT)
    dev_pairs: int | None = key(
        "the last so many training pairs are the dev set when there is no other; 0: none", None, Range(0)
    )
    tokenized: list[str] = key("those of train, dev, test, lm_text that are Moses-tokenised and escaped", [])
    source_factors: list[str] = key("names of what source tokens hold behind the word, such as pos in house|NOUN", [])
    target_factors: list[str] = key("the same of the target", [])
    factor_separator: str = key("what stands between a word and its factors", "|")
    factor_files: dict[str, list[str]] = key("files with a factor for each token, such as train_source_pos", {})
    tagger: str | None = key(
        "tags source words, the factor pos: hanta (parts of speech; de, en, nl), or classes", None, ("hanta", "classes")
    )
    tagger_classes: str | None = key("tagger=classes: their file, word TAB class on each line", None)
    documents: dict[str, list[str]] = key("files that name the document of each sentence, by train, dev and test", {})
    document_pattern: str | None = key("the part of such a line that is the name, a regular expression", None)


@dataclass
class DemoDataConfig(DataConfig):
    """The built-in corpus: a synchronous grammar of our own, any size, by seed."""

    generated: DemoCorpusConfig = key("its size", DemoCorpusConfig())


class _AlignKeys:
    """Given links are used as they are."""

    symmetrization: str = "given"
    links: str | None = None


@dataclass
class AlignConfig(_AlignKeys):
    """How words are aligned."""

    method: str = key("the aligner")


@dataclass
class ComputedLinksConfig(AlignConfig):
    """Links of an aligner."""

    method: str = key("eflomal or fast_align", "eflomal")
    symmetrization: str = key("how both directions are put together", "grow-diag-final-and")


@dataclass
class GivenLinksConfig(AlignConfig):
    """Links made elsewhere."""

    method: str = key("given", "given")
    links: str | None = key("their file in Pharaoh form, one line a training pair")


@dataclass
class LmConfig:
    """The n-gram language model of the target language."""

    order: int = key("the longest n-grams, in words", 3, ORDER)


@dataclass
class PhrasesConfig:
    """Phrase pairs, and the counts of the block bigram model."""

    max_length: int = key("the longest phrase, in words", 7, PHRASE_LENGTH)
    min_count: int = key("pairs seen fewer times are left out", 1, COUNT)
    heldout_every: int = key(
        "every so many sentences one is not counted, for validation; 0 for none", 50, Range(0, but=(1,))
    )
    lexical_floor: float = key("the least lexical probability", 1.0e-7, SHARE)
    test_filter: bool = key("keep only what has to do with the test source", False)
    test_filter_min_words: int = key("test_filter: the shortest phrase shared with the test source, in words", 2, COUNT)
