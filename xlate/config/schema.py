"""The shape of every configuration: names and types; the values are in conf/.

A field without a default must be given by a file in conf/ or on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from xlate.config.loss_schema import LossConfig
from xlate.config.model_schema import ModelConfig
from xlate.text.cutting import MAX_WORDS


@dataclass
class DemoCorpusConfig:
    """Size and seed of the built-in corpus; `factored` writes it with word classes and documents too."""

    seed: int = MISSING
    train: int = MISSING
    dev: int = MISSING
    test: int = MISSING
    factored: bool = False


@dataclass
class DataConfig:
    """Parallel text; `{root}`, `{source}` and `{target}` in file names stand for XLATE_DATA and the two languages.

    Attributes:
        dev_pairs: the last so many training pairs are the dev set, not trained on, when no `dev_source` is named.
        tokenized: those of train, dev, test and lm_text whose files are Moses-tokenised and escaped.
        source_factors: names of what the tokens of the source hold behind the word, such as `pos` in `house|NOUN`.
        target_factors: the same of the target.
        factor_separator: what stands between a word and its factors.
        factor_files: files of factors that stand apart, a value for each token, by `SPLIT_SIDE_FACTOR`, such as
            `train_source_pos`.
        documents: by `train`, `dev` and `test`, files that name the document of each sentence, a line each.
        document_pattern: a regular expression for the part of such a line that is the name.
    """

    name: str = MISSING
    pair: str = MISSING
    root: str | None = None
    train_source: list[str] = field(default_factory=list)
    train_target: list[str] = field(default_factory=list)
    dev_source: str | None = None
    dev_references: list[str] = field(default_factory=list)
    test_source: str | None = None
    test_references: list[str] = field(default_factory=list)
    lm_text: list[str] = field(default_factory=list)
    tokenize: bool = MISSING
    case: str = MISSING
    max_words: int = MISSING
    max_sentences: int | None = None
    dev_pairs: int | None = None
    tokenized: list[str] = field(default_factory=list)
    source_factors: list[str] = field(default_factory=list)
    target_factors: list[str] = field(default_factory=list)
    factor_separator: str = "|"
    factor_files: dict[str, list[str]] = field(default_factory=dict)
    documents: dict[str, list[str]] = field(default_factory=dict)
    document_pattern: str | None = None
    generated: DemoCorpusConfig | None = None


@dataclass
class AlignConfig:
    """How words are aligned."""

    method: str = MISSING
    symmetrization: str = MISSING
    links: str | None = None


@dataclass
class LmConfig:
    """The n-gram language model of the target language."""

    order: int = MISSING


@dataclass
class PhrasesConfig:
    """Phrase pairs, and the counts of the block bigram model."""

    max_length: int = MISSING
    min_count: int = MISSING
    heldout_every: int = MISSING
    lexical_floor: float = MISSING
    test_filter: bool = MISSING
    test_filter_min_words: int = MISSING


@dataclass
class DecoderConfig:
    """Search of the block decoders and, from `algorithm` on, of the phrase decoder."""

    mode: str = MISSING
    beam: int = MISSING
    threshold: float = MISSING
    options: int = MISSING
    min_left_count: int = MISSING
    partition: str = MISSING
    end_of_sentence: bool = MISSING
    future_cost: bool = MISSING
    option_order: str = MISSING
    max_skips: int = MISSING
    window: int = MISSING
    max_words: int = MAX_WORDS
    coverage_beam: int | None = None
    algorithm: str | None = None
    stack: int | None = None
    pop_limit: int | None = None
    max_phrase: int | None = None
    distortion_limit: int | None = None
    early_threshold: float | None = None
    distortion_future: bool | None = None


@dataclass
class DecoderOverrides:
    """Search settings that replace those stored with a run; what is left null stays as it was trained."""

    mode: str | None = None
    beam: int | None = None
    threshold: float | None = None
    options: int | None = None
    min_left_count: int | None = None
    partition: str | None = None
    end_of_sentence: bool | None = None
    future_cost: bool | None = None
    option_order: str | None = None
    max_skips: int | None = None
    window: int | None = None
    max_words: int | None = None
    coverage_beam: int | None = None
    algorithm: str | None = None
    stack: int | None = None
    pop_limit: int | None = None
    max_phrase: int | None = None
    distortion_limit: int | None = None
    early_threshold: float | None = None
    distortion_future: bool | None = None


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
    against: int | None = None
    cheating: bool = False


@dataclass
class TrainConfig:
    """xlate train."""

    work: str = MISSING
    run: str | None = None
    seed: int = MISSING
    device: str = MISSING
    checkpoint_seconds: float = MISSING
    base: str | None = None
    measure_test: bool = MISSING
    dev_sentences: int | None = None
    samples: int = MISSING
    row: RowConfig | None = None
    nbest: str | None = None
    references: list[str] = field(default_factory=list)
    source: str | None = None
    first_id: int | None = None
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    debug: bool = False


@dataclass
class TranslateConfig:
    """xlate translate."""

    run: str = MISSING
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
    decoder: DecoderOverrides = field(default_factory=DecoderOverrides)
    debug: bool = False


@dataclass
class ImportConfig:
    """xlate import."""

    moses: str = MISSING
    out: str = MISSING
    filter: str | None = None
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    debug: bool = False


@dataclass
class ExportConfig:
    """xlate export."""

    run: str = MISSING
    out: str = MISSING
    debug: bool = False


@dataclass
class InspectConfig:
    """xlate inspect."""

    run: str = MISSING
    top: int = MISSING
    find: str | None = None
    sentence: str | None = None
    debug: bool = False


@dataclass
class ScoreConfig:
    """xlate score."""

    hyp: str = MISSING
    against: str | None = None
    ref: list[str] = MISSING
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
