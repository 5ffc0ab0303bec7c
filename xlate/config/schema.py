"""The settings of every command, each stated once: its default, its range and its description for `--help`.

Choices from groups are in a command's settings under the name of the group; `config/choices.py` has the default
choices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from xlate.config.model_schema import ModelConfig
from xlate.search.settings import DecoderSettings
from xlate.settings import (
    COUNT,
    ENDLESS,
    LISTED,
    NOT_NEGATIVE,
    ORDER,
    PHRASE_LENGTH,
    PROBABILITY,
    PROCESSES,
    SEED,
    SENTENCES,
    Range,
    key,
)
from xlate.train.settings import LossConfig, StoredSourceConfig
from xlate.work.settings import AlignConfig, DataConfig, LmConfig, PhrasesConfig

WORK = "The work directory, when it lies neither where the run was trained on it nor in the same place beside the run."
REFERENCES = "References; without them those of the work directory of a run."
LOWERCASE = "Without the difference of capitals."
TOKENIZE = "Tokenisation of BLEU: 13a, intl, none, char …"
SPLIT = "Of runs: the outputs of test or dev."
SPLITS = ("dev", "test")
DEVICES = ("cpu", "cuda", "auto")
MEASURES = ["bleu", "chrf", "ter", "nist", "lexacc"]


@dataclass
class Command:
    """What every command has; `positional` is the key that all bare words are values of, or those of a word each."""

    positional: ClassVar[str | tuple[str, ...]] = ()
    debug: bool = key("Errors come with tracebacks.", False)


@dataclass
class PrepareConfig(Command):
    """xlate prepare: corpus → work directory."""

    work: str = key("The work directory to make.", "work/${data.name}")
    seed: int = key("Of the aligner.", 1, SEED)
    data: DataConfig = field(default_factory=DataConfig)
    align: AlignConfig = field(default_factory=AlignConfig)
    lm: LmConfig = field(default_factory=LmConfig)
    phrases: PhrasesConfig = field(default_factory=PhrasesConfig)


@dataclass
class GivenListsConfig:
    """How n-best lists that are given are read."""

    nbest_format: str = key(
        "auto (by the first line), bars (Moses, Marian …), fairseq, plain or jsonl",
        "auto",
        ("auto", "bars", "fairseq", "plain", "jsonl"),
    )
    nbest_size: int | None = key("plain: so many lines per sentence", None, COUNT)
    nbest_duplicates: str = key(
        "hypotheses of a sentence with the same words: keep, or drop all but the first", "keep", ("keep", "drop")
    )
    add_scores: list[str] = key("features NAME=FILE made elsewhere: one number per hypothesis, in their order", [])
    merge: list[str] = key("lists NAME=FILE of other systems for the same sentences", [])


@dataclass
class RowConfig:
    """Which row of a paper's table a run is, what the paper has there, and the row it is compared with."""

    page: str = key()
    table: str = key()
    number: int = key(limit=Range(0))
    label: str = key()
    paper: str = key()
    paper_P: str | None = None
    paper_lexacc: str | None = None
    against: int | None = key("", None, Range(0))
    cheating: bool = False


@dataclass
class TrainConfig(GivenListsConfig, Command):
    """xlate train: work directory → run."""

    work: str = key("The work directory, which xlate prepare makes.", "work/demo")
    run: str | None = key("The folder of the run; null: runs/NAME, NAME being made of what is set.", None)
    seed: int = key("Of shuffling and drawing.", 1, SEED)
    device: str = key("cpu, cuda, or auto: cuda where there is a GPU.", "cpu")
    checkpoint_seconds: float = key("Time between two checkpoints; changes no result.", 20, ENDLESS)
    base: str | None = key("A run to start from: its weights, or what decodes.", None)
    measure_test: bool = key("The test set is translated and measured too.", False)
    measures: list[str] = key(
        "What outputs of dev and test set are scored by, bleu and others. TER takes minutes where outputs are far too"
        " long.",
        MEASURES,
    )
    dev_sentences: int | None = key("Measure on the first so many sentences of the dev set; null for all.", None, COUNT)
    dev_every: int = key(
        "Training on events measures dev BLEU after every so many epochs, as far as that takes no longer than "
        "training; 0: never.",
        1,
        Range(0),
    )
    samples: int = key(
        "So many dev sentences, or lists with model=rerank, are shown in TensorBoard beside their references.",
        10,
        Range(0),
    )
    row: RowConfig | None = key("The row of a table in a paper that this is; experiments set it.", None)
    nbest: str | None = key("For model=rerank: an n-best list.", None)
    references: list[str] = key("Its tokenised references.", [])
    nbest_source: str | None = key("Its source.", None)
    first_id: int | None = key("The number of its first sentence; null: 0, or as the list begins.", None, Range(0))
    source: Any = field(default_factory=StoredSourceConfig)
    model: Any = field(default_factory=ModelConfig)
    loss: Any = field(default_factory=LossConfig)
    decoder: Any = field(default_factory=DecoderSettings)


@dataclass
class TranslateConfig(Command):
    """xlate translate run=RUN < in > out."""

    run: str = key(
        "The run to translate with; or the joshua.config, cdec.ini or hierarchical moses.ini of a system, decoded "
        "bottom-up.",
    )
    work: str | None = key(WORK, None)
    input: str | None = key("The text to translate; null or -: standard input.", None)
    output: str | None = key("Where the translations go; null or -: standard output.", None)
    nbest: int = key("So many translations of each line.", 1, LISTED)
    nbest_out: str | None = key("The file of the n-best lists.", None)
    lattice_out: str | None = key(
        "A folder for the translation graph of every line, as OpenFst text (fst) or HTK standard lattices (slf).",
        None,
    )
    lattice_format: str = key("Their form: fst or slf.", "fst", ("fst", "slf"))
    target: str | None = key(
        "Forced decoding: a file of translations, one per line; each line is translated into its translation, if "
        "there is a way.",
        None,
    )
    tables: str | None = key("A folder with a phrase table for every line: 0 or 0.gz for the first.", None)
    processes: int = key("Processes that translate the phrase model's lines side by side.", 1, PROCESSES)
    distinct: bool = key("N-best lists have each text once.", True)
    trace: bool = key("How each translation came about goes to standard error.", False)
    detokenize: bool = key("Text as people write it; false: tokens between blanks.", True)
    fast: bool = key("The compiled search; false: the readable one, with the same result.", True)
    decoder: dict[str, Any] = field(default_factory=dict)


@dataclass
class ImportConfig(Command):
    """xlate import: a system of Moses, Joshua or cdec → run."""

    moses: str | None = key("moses.ini of a system, phrase-based or hierarchical.", None)
    grammar: str | None = key(
        "The joshua.config, cdec.ini or hierarchical moses.ini of a system whose whole grammar is decoded bottom-up.",
        None,
    )
    out: str = key("The folder of the run to make.")
    filter: str | None = key(
        "A text as it will be translated: keep only the phrases or rules that it needs. Null keeps all.",
        None,
    )
    pair: str | None = key(
        "Source and target language, de-en: the run takes raw text and gives plain text. Null: it takes tokens "
        "between blanks and gives tokens.",
        None,
    )
    tokenize: bool = key(
        "Raw text is made into tokens as Moses does, with &apos; and @-@ where the system has them. False: tokens are"
        " between blanks.",
        True,
    )
    case: str | None = key(
        "Raw text is made lower (case), truecased (true), or stays as it is (keep); null: lower where the system's "
        "words have no capitals, else keep.",
        None,
    )
    truecase: list[str] = key("For case=true the two models of Moses's train-truecaser, source and target.", [])
    decoder: dict[str, Any] = field(default_factory=dict)


@dataclass
class ExportConfig(Command):
    """xlate export: a run of the phrase model → tables, language model and moses.ini in a folder."""

    run: str = key("The run.")
    work: str | None = key(WORK, None)
    out: str = key("The folder for the tables and moses.ini.")
    input: str | None = key(
        "A text: every line of it gets a phrase table of its own, with the predictions in context of the run, if it "
        "has any.",
        None,
    )
    reordering: str = key(
        "Reordering scores of such tables: in files beside them (files), or as six more scores inside (scores).",
        "files",
        ("files", "scores"),
    )


@dataclass
class PackConfig(Command):
    """xlate pack run=RUN out=FILE.tar: a run with all that translating needs, as one file; any other out= is a
    folder.
    """

    run: str = key("The run.")
    out: str = key("The file, or the folder when the name does not end in .tar.")
    input: str | None = key(
        "A text in the source language, of which five lines are kept to check the packed run by; null: lines of the "
        "dev set.",
        None,
    )
    work: str | None = key(WORK, None)


@dataclass
class InspectConfig(Command):
    """xlate inspect run=RUN: the largest weights in words; sentence= explains one translation; diff=RUN compares
    two runs; weights=FILE writes all weights, a line of name, TAB and weight for each.
    """

    run: str = key("A finished run.")
    work: str | None = key(WORK, None)
    top: int = key("So many features for, and so many against; of a sentence, so many of each phrase.", 10, COUNT)
    family: str | None = key(
        "Sparse features of one family only, by its name or a part of it between colons, such as source_first or "
        "top80.",
        None,
    )
    find: str | None = key(
        "Part of the names of features; of a classifier in context, a source word or phrase, whose contexts are shown.",
        None,
    )
    diff: str | None = key("Another run: what changed from its weights to those of run.", None)
    sentence: str | None = key(
        "A line to translate; of a classifier, one whose phrases are shown with and without their context.",
        None,
    )
    weights: str | None = key("A file for all weights with their names.", None)


@dataclass
class ServeConfig(Command):
    """xlate serve run=RUN: translates over HTTP, POST /translate {"text": …, "nbest": …, "explain": …}, GET
    /health, and a page.
    """

    run: str = key("A finished run.")
    other: str | None = key("Another run, whose translation the page shows beside that of run.", None)
    work: str | None = key(
        "The work directory of run, when it lies neither where the run was trained on it nor in the same place beside"
        " the run; that of other is looked for there first.",
        None,
    )
    host: str = key("The address of this machine to answer at; only this machine reaches 127.0.0.1.", "127.0.0.1")
    port: int = key("0 takes any port that is free.", 8000, Range(0, 65535))
    allow: list[str] = key(
        "Other hosts that clients may write in the address, or whose pages may ask: [mt.example.org]. Requests for "
        "any host but these, localhost and host are refused.",
        [],
    )
    max_bytes: int = key("The largest request that is answered, in bytes.", 65536, COUNT)
    max_words: int = key("The longest sentence that is answered.", 200, COUNT)
    max_nbest: int = key("The longest list of translations.", 100, LISTED)


@dataclass
class NbestConfig(GivenListsConfig, Command):
    """xlate nbest check|import|oracle|rescore|pairs|score FILE [ref=[REF,…]] [weights=FILE] [out=…]."""

    positional = ("action", "nbest")
    action: str = key("What to do with the list.")
    nbest: str = key("The n-best list.")
    ref: list[str] = key("Tokenised references, a file each.", [])
    weights: str | None = key("A file of weights, NAME= VALUE on each line.", None)
    run: str | None = key("A run of model=rerank to rescore with.", None)
    source: str | None = key("The source of the list.", None)
    first_id: int | None = key("The number of the first sentence.", None, Range(0))
    mbr: str = key(
        "rescore: by the expected gain if another hypothesis of the list were the reference (none, bleu or chrf).",
        "none",
        ("none", "bleu", "chrf"),
    )
    out: str | None = key("Where the result goes; - is standard output.", None)
    best_out: str | None = key("rescore: the text of the best hypotheses, line N of sentence N.", None)
    metric: str = key(
        "pairs: what is preferred: bleu, chrf, ter, a mixture like bleu:1,chrf:1, or column, the feature gain_column.",
        "bleu",
    )
    gain_column: str | None = key("The feature that metric=column takes for the gain.", None)
    pairs: int = key(
        "pairs: so many of each list, the best with the worst, the second best with the second worst …",
        1,
        LISTED,
    )
    least_margin: float = key("pairs: the least difference of their gains, from 0 to 1.", 0.05, NOT_NEGATIVE)
    lm: str | None = key(
        "score: a language model, ARPA, whose log probabilities of the hypotheses become a column for add_scores.",
        None,
    )


@dataclass
class EventsConfig(Command):
    """xlate events export STORE out=FILE | xlate events import FILE out=STORE."""

    positional = ("action", "events")
    action: str = key("What to do.")
    events: str = key("The candidate store to export, or the text to import.")
    out: str = key("The text to write, or the store.")


@dataclass
class ScoreConfig(Command):
    """xlate score hyp=[OUT,…] ref=[REF,…] [against=[OTHER,…]]."""

    hyp: list[str] = key("Outputs: text files or runs; several are runs of one system, such as seeds.")
    against: list[str] = key("Outputs of another system for the paired test, as many as of the first, or one.", [])
    ref: list[str] = key(REFERENCES, [])
    split: str = key(SPLIT, "test", SPLITS)
    measures: list[str] = key("Which of bleu, chrf, ter, nist, lexacc.", MEASURES)
    columns: list[str] = key(
        "Scores computed elsewhere, [NAME=FILE,…] with one number per sentence: a file for each output, in their "
        "order.",
        [],
    )
    against_columns: list[str] = key("The same for the other system.", [])
    lowercase: bool = key(LOWERCASE, False)
    tokenize: str = key(TOKENIZE, "13a")
    bootstrap: int = key("Samples of intervals and paired tests.", 1000, Range(0, 10**6))
    seed: int = key("Of these samples.", 12345, SEED)
    out: str | None = key("A file for the figures, as JSON.", None)


@dataclass
class ReportConfig(Command):
    """xlate report runs/…."""

    positional = "runs"
    runs: list[str] = key("Runs, or folders of runs.", ["runs"])
    out: str | None = key(
        "A folder for what is written; without it that of the runs, or one beside a single run, NAME-report.",
        None,
    )
    plots: bool = key("Draw the plots.", True)
    html: bool = key("report.html: all in one page that needs no other file.", True)
    split: str | None = key(
        "The outputs shown and tested: test or dev; without it test if a run has translated it (measure_test=true), "
        "else dev.",
        None,
        SPLITS,
    )
    sentences: int = key("So many sentences side by side.", 100, Range(0))
    explained: int = key(
        "So many of them translated again by the best run, with pictures of reordering and the features that decided.",
        3,
        Range(0),
    )


@dataclass
class CompareConfig(Command):
    """xlate compare A B [ref=[REF,…]] [src=FILE]."""

    positional = ("a", "b")
    a: str = key("A system: a text file or a run.")
    b: str = key("The one it is compared with.")
    ref: list[str] = key(REFERENCES, [])
    src: str | None = key("The source text, shown beside examples; of a run that of its work directory.", None)
    split: str = key(SPLIT, "test", SPLITS)
    train: str | None = key(
        "Target side of the training text, for buckets by word frequency; of a run that of its work directory.",
        None,
    )
    lowercase: bool = key(LOWERCASE, False)
    tokenize: str = key(TOKENIZE, "13a")
    top: int = key("So many n-grams and examples on each side.", 10, Range(0))
    out: str | None = key("A folder for compare.txt and compare.html; without it only the text is printed.", None)


@dataclass
class DemoConfig(Command):
    """xlate demo: the whole path on the built-in corpus."""

    work: str = key("The names of the work directories begin so.", "work/demo")
    run: str = key("The folder of the runs.", "runs/demo")
    seed: int = key("Of the sentences drawn, and of the trainings.", 1, SEED)
    sentences: int = key("Sentences that are translated and measured; 4,000 pairs are learned from.", 1000, SENTENCES)


@dataclass
class AlignCommandConfig(Command):
    """xlate align source=S target=T out=LINKS."""

    source: str = key("Tokenised text of the source side.")
    target: str = key("Tokenised text of the target side, line by line beside it.")
    out: str = key("The file for the links, in Pharaoh form.")
    method: str = key("eflomal, fast_align, hmm, ibm1, ibm2 or ibm4.", "eflomal")
    symmetrization: str = key("How both directions are put together.", "grow-diag-final-and")
    seed: int = key("Of the sampler; only eflomal draws.", 1, SEED)


@dataclass
class LmCommandConfig(Command):
    """xlate lm text=T order=5 out=LM.arpa.gz."""

    text: list[str] = key("Tokenised text, one or more files.")
    order: int = key("The longest n-grams, in words.", 5, ORDER)
    out: str = key("The file for the model, ARPA; .gz packs it.")
    perplexity: str | None = key("A text whose perplexity is told.", None)


@dataclass
class PhrasesCommandConfig(Command):
    """xlate phrases source=S target=T links=LINKS out=phrase-table.gz."""

    source: str = key("Tokenised text of the source side.")
    target: str = key("Tokenised text of the target side.")
    links: str = key("Their links, in Pharaoh form.")
    out: str = key("The file for the phrase table, in the form of Moses.")
    max_length: int = key("The longest phrase, in words.", 7, PHRASE_LENGTH)


@dataclass
class AerCommandConfig(Command):
    """xlate aer links=A gold=G."""

    links: str = key("The links to judge, in Pharaoh form.")
    gold: str = key("The links of a person.")
    swapped: bool = key("The links to judge have the target position first.", False)


@dataclass
class DictionaryConfig(Command):
    """xlate dictionary work=WORK out=FILE."""

    work: str = key("The work directory, whose word links are counted.")
    out: str = key(
        "The file: columns between tabs, or JSON lines when the name ends in .jsonl; .gz after it packs it; -: "
        "standard output.",
        "-",
    )
    least_count: int = key("How often two words must be linked.", 2, COUNT)
    least_probability: float = key(
        "Of the target word given the source word, and the other way round.", 0.1, PROBABILITY
    )
    least_significance: float = key(
        "The log-likelihood ratio G² of the pair; 10.83 means that chance links as often with p < 0.001.",
        10.83,
        NOT_NEGATIVE,
    )
    words_only: bool = key("Leave out what has a digit or no letter.", True)
    most: int | None = key("Translations per source word; null for all.", None, COUNT)


@dataclass
class TagConfig(Command):
    """xlate tag language=de < raw > tagged."""

    language: str = key("Of the lines; HanTa's models are of de, en and nl.")
    classes: str | None = key(
        "A file of word classes (word TAB class) that tags instead of HanTa, in any language.",
        None,
    )
    tokenize: bool = key("false: tokens are between blanks already.", True)
    input: str | None = key("The text; null or -: standard input.", None)
    output: str | None = key("Where the tokens go; null or -: standard output.", None)


# In the order of the help.
COMMANDS: dict[str, type[Command]] = {
    "prepare": PrepareConfig,
    "train": TrainConfig,
    "translate": TranslateConfig,
    "serve": ServeConfig,
    "score": ScoreConfig,
    "compare": CompareConfig,
    "import": ImportConfig,
    "export": ExportConfig,
    "pack": PackConfig,
    "inspect": InspectConfig,
    "report": ReportConfig,
    "demo": DemoConfig,
    "align": AlignCommandConfig,
    "lm": LmCommandConfig,
    "phrases": PhrasesCommandConfig,
    "nbest": NbestConfig,
    "events": EventsConfig,
    "aer": AerCommandConfig,
    "dictionary": DictionaryConfig,
    "tag": TagConfig,
}
