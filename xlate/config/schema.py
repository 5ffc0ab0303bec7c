"""The shape of every command's configuration.

Keys of what is chosen have their defaults here and in the other schemas, those of commands have them in conf/. A key
without one must be given by a file in conf/ or on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from xlate.config.decoder_schema import DecoderConfig as DecoderConfig
from xlate.config.fields import key
from xlate.config.loss_schema import LossConfig
from xlate.config.model_schema import ModelConfig
from xlate.config.nbest_schema import GivenListsConfig
from xlate.config.source_schema import SourceConfig, StoredSourceConfig


@dataclass
class DemoCorpusConfig:
    """Size and seed of the built-in corpus."""

    seed: int = key("of the sentences drawn", 1)
    train: int = key("training pairs", 4000)
    dev: int = key("dev sentences", 300)
    test: int = key("test sentences", 300)
    factored: bool = key("write it with word classes and documents too", False)


class _DataKeys:
    """A corpus is of files unless it is generated."""

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
    max_words: int = key("pairs with a longer side are left out", 100)
    max_sentences: int | None = key("the first so many training pairs; null for all", None)
    dev_pairs: int | None = key("the last so many training pairs are the dev set when there is no other; 0: none", None)
    tokenized: list[str] = key("those of train, dev, test, lm_text that are Moses-tokenised and escaped", [])
    source_factors: list[str] = key("names of what source tokens hold behind the word, such as pos in house|NOUN", [])
    target_factors: list[str] = key("the same of the target", [])
    factor_separator: str = key("what stands between a word and its factors", "|")
    factor_files: dict[str, list[str]] = key("files with a factor for each token, such as train_source_pos", {})
    tagger: str | None = key("tags source words, the factor pos: hanta (parts of speech; de, en, nl), or classes", None)
    tagger_classes: str | None = key("tagger=classes: their file, word TAB class on each line", None)
    documents: dict[str, list[str]] = key("files that name the document of each sentence, by train, dev and test", {})
    document_pattern: str | None = key("the part of such a line that is the name, a regular expression", None)


@dataclass
class DemoDataConfig(DataConfig):
    """The built-in corpus: a synchronous grammar of our own, any size, by seed."""

    generated: DemoCorpusConfig = key("its size", DemoCorpusConfig())


class _AlignKeys:
    """Given links are taken as they are."""

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

    order: int = key("the longest n-grams, in words", 3)


@dataclass
class PhrasesConfig:
    """Phrase pairs, and the counts of the block bigram model."""

    max_length: int = key("the longest phrase, in words", 7)
    min_count: int = key("pairs seen fewer times are left out", 1)
    heldout_every: int = key("every so many sentences one is not counted, for validation; 0 for none", 50)
    lexical_floor: float = key("the least lexical probability", 1.0e-7)
    test_filter: bool = key("keep only what has to do with the test source", False)
    test_filter_min_words: int = key("test_filter: the shortest phrase shared with the test source, in words", 2)


@dataclass
class PrepareConfig:
    """xlate prepare."""

    work: str = MISSING
    seed: int = MISSING
    data: DataConfig = field(default_factory=DataConfig)
    align: AlignConfig = field(default_factory=AlignConfig)
    lm: LmConfig = field(default_factory=LmConfig)
    phrases: PhrasesConfig = field(default_factory=PhrasesConfig)
    debug: bool = False


@dataclass
class RowConfig:
    """Which row of a paper's table a run is, what the paper has there, and the row it is compared with."""

    page: str = MISSING
    table: str = MISSING
    number: int = MISSING
    label: str = MISSING
    paper: str = MISSING
    paper_P: str | None = None
    paper_lexacc: str | None = None
    against: int | None = None
    cheating: bool = False


@dataclass
class TrainConfig(GivenListsConfig):
    """xlate train."""

    work: str = MISSING
    run: str | None = None
    seed: int = MISSING
    device: str = MISSING
    checkpoint_seconds: float = MISSING
    base: str | None = None
    measure_test: bool = MISSING
    measures: list[str] = field(default_factory=lambda: ["bleu", "chrf", "ter", "nist", "lexacc"])
    dev_sentences: int | None = None
    dev_every: int = 1
    samples: int = MISSING
    row: RowConfig | None = None
    nbest: str | None = None
    references: list[str] = field(default_factory=list)
    nbest_source: str | None = None
    first_id: int | None = None
    source: SourceConfig = field(default_factory=StoredSourceConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    debug: bool = False


@dataclass
class TranslateConfig:
    """xlate translate."""

    run: str = MISSING
    work: str | None = None
    input: str | None = None
    output: str | None = None
    nbest: int = MISSING
    nbest_out: str | None = None
    lattice_out: str | None = None
    lattice_format: str = MISSING
    target: str | None = None
    tables: str | None = None
    processes: int = MISSING
    distinct: bool = MISSING
    trace: bool = MISSING
    detokenize: bool = MISSING
    fast: bool = MISSING
    decoder: dict[str, Any] = field(default_factory=dict)
    debug: bool = False


@dataclass
class ImportConfig:
    """xlate import."""

    moses: str | None = None
    grammar: str | None = None
    filter: str | None = None
    out: str = MISSING
    pair: str | None = None
    tokenize: bool = True
    case: str | None = None
    truecase: list[str] = field(default_factory=list)
    decoder: dict[str, Any] = field(default_factory=dict)
    debug: bool = False


@dataclass
class ExportConfig:
    """xlate export."""

    run: str = MISSING
    work: str | None = None
    out: str = MISSING
    input: str | None = None
    reordering: str = MISSING
    debug: bool = False


@dataclass
class PackConfig:
    """xlate pack."""

    run: str = MISSING
    out: str = MISSING
    input: str | None = None
    work: str | None = None
    debug: bool = False


@dataclass
class InspectConfig:
    """xlate inspect."""

    run: str = MISSING
    work: str | None = None
    top: int = MISSING
    family: str | None = None
    find: str | None = None
    diff: str | None = None
    sentence: str | None = None
    weights: str | None = None
    debug: bool = False


@dataclass
class ServeConfig:
    """xlate serve."""

    run: str = MISSING
    other: str | None = None
    work: str | None = None
    host: str = MISSING
    port: int = MISSING
    allow: list[str] = field(default_factory=list)
    max_bytes: int = MISSING
    max_words: int = MISSING
    max_nbest: int = MISSING
    debug: bool = False


@dataclass
class ScoreConfig:
    """xlate score."""

    hyp: list[str] = MISSING
    against: list[str] = field(default_factory=list)
    ref: list[str] = field(default_factory=list)
    split: str = MISSING
    measures: list[str] = MISSING
    columns: list[str] = field(default_factory=list)
    against_columns: list[str] = field(default_factory=list)
    lowercase: bool = MISSING
    tokenize: str = MISSING
    bootstrap: int = MISSING
    seed: int = MISSING
    out: str | None = None
    debug: bool = False


@dataclass
class ReportConfig:
    """xlate report."""

    runs: list[str] = MISSING
    out: str | None = None
    plots: bool = MISSING
    html: bool = MISSING
    split: str | None = None
    sentences: int = MISSING
    explained: int = MISSING
    debug: bool = False


@dataclass
class CompareConfig:
    """xlate compare."""

    a: str = MISSING
    b: str = MISSING
    ref: list[str] = field(default_factory=list)
    src: str | None = None
    split: str = MISSING
    train: str | None = None
    lowercase: bool = MISSING
    tokenize: str = MISSING
    top: int = MISSING
    out: str | None = None
    debug: bool = False


@dataclass
class AlignCommandConfig:
    """xlate align."""

    source: str = MISSING
    target: str = MISSING
    out: str = MISSING
    method: str = MISSING
    symmetrization: str = MISSING
    seed: int = MISSING
    debug: bool = False


@dataclass
class LmCommandConfig:
    """xlate lm."""

    text: list[str] = MISSING
    order: int = MISSING
    out: str = MISSING
    perplexity: str | None = None
    debug: bool = False


@dataclass
class PhrasesCommandConfig:
    """xlate phrases."""

    source: str = MISSING
    target: str = MISSING
    links: str = MISSING
    out: str = MISSING
    max_length: int = MISSING
    debug: bool = False


@dataclass
class TagConfig:
    """xlate tag."""

    language: str = MISSING
    classes: str | None = None
    tokenize: bool = MISSING
    input: str | None = None
    output: str | None = None
    debug: bool = False


@dataclass
class EventsConfig:
    """xlate events."""

    action: str = MISSING
    events: str = MISSING
    out: str = MISSING
    debug: bool = False


@dataclass
class AerCommandConfig:
    """xlate aer."""

    links: str = MISSING
    gold: str = MISSING
    swapped: bool = MISSING
    debug: bool = False


@dataclass
class DemoConfig:
    """xlate demo."""

    work: str = MISSING
    run: str = MISSING
    seed: int = MISSING
    sentences: int = MISSING
    debug: bool = False
