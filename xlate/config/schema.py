"""The shape of every command's configuration.

Keys of what is chosen have their defaults here and in the other schemas, those of commands have them in conf/. A key
without one must be given by a file in conf/ or on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xlate.config.loss_schema import LossConfig
from xlate.config.model_schema import ModelConfig
from xlate.config.nbest_schema import GivenListsConfig
from xlate.config.source_schema import SourceConfig, StoredSourceConfig
from xlate.search.settings import DecoderSettings as DecoderSettings
from xlate.settings import COUNT, ENDLESS, LISTED, MISSING, ORDER, PHRASE_LENGTH, PROCESSES, SEED, SENTENCES, Range, key
from xlate.work.settings import AlignConfig, DataConfig, LmConfig, PhrasesConfig


@dataclass
class PrepareConfig:
    """xlate prepare."""

    work: str = MISSING
    seed: int = key(limit=SEED)
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
    number: int = key(limit=Range(0))
    label: str = MISSING
    paper: str = MISSING
    paper_P: str | None = None
    paper_lexacc: str | None = None
    against: int | None = key("", None, Range(0))
    cheating: bool = False


@dataclass
class TrainConfig(GivenListsConfig):
    """xlate train."""

    work: str = MISSING
    run: str | None = None
    seed: int = key(limit=SEED)
    device: str = MISSING
    checkpoint_seconds: float = key(limit=ENDLESS)
    base: str | None = None
    measure_test: bool = MISSING
    measures: list[str] = field(default_factory=lambda: ["bleu", "chrf", "ter", "nist", "lexacc"])
    dev_sentences: int | None = key("", None, COUNT)
    dev_every: int = key("", 1, Range(0))
    samples: int = key(limit=Range(0))
    row: RowConfig | None = None
    nbest: str | None = None
    references: list[str] = field(default_factory=list)
    nbest_source: str | None = None
    first_id: int | None = key("", None, Range(0))
    source: SourceConfig = field(default_factory=StoredSourceConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    decoder: Any = field(default_factory=DecoderSettings)
    debug: bool = False


@dataclass
class TranslateConfig:
    """xlate translate."""

    run: str = MISSING
    work: str | None = None
    input: str | None = None
    output: str | None = None
    nbest: int = key(limit=LISTED)
    nbest_out: str | None = None
    lattice_out: str | None = None
    lattice_format: str = key(limit=("fst", "slf"))
    target: str | None = None
    tables: str | None = None
    processes: int = key(limit=PROCESSES)
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
    reordering: str = key(limit=("files", "scores"))
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
    top: int = key(limit=COUNT)
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
    port: int = key(limit=Range(0, 65535))
    allow: list[str] = field(default_factory=list)
    max_bytes: int = key(limit=COUNT)
    max_words: int = key(limit=COUNT)
    max_nbest: int = key(limit=LISTED)
    debug: bool = False


@dataclass
class ScoreConfig:
    """xlate score."""

    hyp: list[str] = MISSING
    against: list[str] = field(default_factory=list)
    ref: list[str] = field(default_factory=list)
    split: str = key(limit=("dev", "test"))
    measures: list[str] = MISSING
    columns: list[str] = field(default_factory=list)
    against_columns: list[str] = field(default_factory=list)
    lowercase: bool = MISSING
    tokenize: str = MISSING
    bootstrap: int = key(limit=Range(0, 10**6))
    seed: int = key(limit=SEED)
    out: str | None = None
    debug: bool = False


@dataclass
class ReportConfig:
    """xlate report."""

    runs: list[str] = MISSING
    out: str | None = None
    plots: bool = MISSING
    html: bool = MISSING
    split: str | None = key("", None, ("dev", "test"))
    sentences: int = key(limit=Range(0))
    explained: int = key(limit=Range(0))
    debug: bool = False


@dataclass
class CompareConfig:
    """xlate compare."""

    a: str = MISSING
    b: str = MISSING
    ref: list[str] = field(default_factory=list)
    src: str | None = None
    split: str = key(limit=("dev", "test"))
    train: str | None = None
    lowercase: bool = MISSING
    tokenize: str = MISSING
    top: int = key(limit=Range(0))
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
    seed: int = key(limit=SEED)
    debug: bool = False


@dataclass
class LmCommandConfig:
    """xlate lm."""

    text: list[str] = MISSING
    order: int = key(limit=ORDER)
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
    max_length: int = key(limit=PHRASE_LENGTH)
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
    seed: int = key(limit=SEED)
    sentences: int = key(limit=SENTENCES)
    debug: bool = False
