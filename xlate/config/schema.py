"""The settings of every command, each stated once: its default, its range and its description for `--help`.

Choices from groups are in a command's settings under the name of the group; `config/choices.py` has the default
choices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xlate.cluster import ClusterConfig
from xlate.config.model_schema import ModelConfig
from xlate.learning.settings import LossConfig, StoredSourceConfig
from xlate.search.settings import DecoderSettings
from xlate.settings import (
    CASES,
    COUNT,
    ENDLESS,
    LISTED,
    MEASURES,
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
from xlate.tuners.settings import ONLINE, TuneConfig
from xlate.work.settings import AlignConfig, DataConfig, LmConfig, PhrasesConfig

if TYPE_CHECKING:
    from xlate.work.directory import WorkDirectory

USES = ("hard", "soft")
WORK = "The work directory, if it has moved since training and is not in the same place relative to the run."
SPLITS = ("dev", "test")


@dataclass
class Command:
    """What every command has; `positional` is the key that all bare words are values of, or those of a word each."""

    positional: ClassVar[str | tuple[str, ...]] = ()
    debug: bool = key("Show tracebacks with errors.", False)


@dataclass
class PrepareConfig(Command):
    """xlate prepare: corpus → work directory."""

    work: str = key("The work directory to create.", "work/${data.name}")
    seed: int = key("Seed of the aligner.", 1, SEED)
    mix: str | None = key(
        "A prepared work directory of more general text. Its text is put before that of the corpus, and the phrase "
        "table and the language model are mixtures of both.",
        None,
    )
    mix_weight: float | None = key(
        "The weight of the corpus in both mixtures of mix; null: the weights that make the dev set most likely.",
        None,
        Range(0, 1, open_low=True, open_high=True),
    )
    memory: str = key("Memory for the counts of a stage, such as 2GB or 500MB; what exceeds it goes to files.", "2GB")
    stages: list[str] = key(
        "What to make now: lm, phrases, blocks (the counts that only block models need). The rest is made when a "
        "command first needs it.",
        ["lm", "phrases"],
        ("lm", "phrases", "blocks"),
    )
    data: DataConfig = field(default_factory=DataConfig)
    align: AlignConfig = field(default_factory=AlignConfig)
    lm: LmConfig = field(default_factory=LmConfig)
    phrases: PhrasesConfig = field(default_factory=PhrasesConfig)
    cluster: Any = field(default_factory=ClusterConfig)


@dataclass
class GivenListsConfig:
    """How n-best lists that are given are read."""

    nbest_format: str = key(
        "auto (from the first line), bars (Moses, Marian …), fairseq, plain or jsonl",
        "auto",
        ("auto", "bars", "fairseq", "plain", "jsonl"),
    )
    nbest_size: int | None = key("plain: the number of lines per sentence", None, COUNT)
    nbest_duplicates: str = key(
        "hypotheses of a sentence with identical words: keep, or drop all but the first", "keep", ("keep", "drop")
    )
    fields: list[str] = key("records of other tools: NAME=FIELD, for the names id, src, hyp, ref and score", [])
    add_scores: list[str] = key("features from files, NAME=FILE: one number per hypothesis, in the list's order", [])
    documents: str | None = key(
        "a file with the name of each sentence's document, for features of documents; by default `doc` of JSON lines",
        None,
    )
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

    work: str = key("The work directory that xlate prepare created.", "work/demo")
    run: str | None = key("The folder of the run; null: runs/NAME, with a NAME made from your settings.", None)
    seed: int = key("Seed for shuffling and sampling.", 1, SEED)
    device: str = key("cpu, cuda, or auto: cuda if there is a GPU.", "cpu", ("cpu", "cuda", "auto"))
    checkpoint_seconds: float = key("Seconds between checkpoints; the result does not depend on it.", 20, ENDLESS)
    base: str | None = key("A run to start from, or to decode with.", None)
    measure_test: bool = key("Also translate and score the test set.", False)
    measures: list[str] = key("Scores of the dev and test outputs: bleu and others.", [*MEASURES], MEASURES)
    dev_sentences: int | None = key("Number of dev sentences to score, from the first; null: all.", None, COUNT)
    dev_every: int = key(
        "Training on events measures dev BLEU after every N-th epoch, unless that takes longer than training; 0: "
        "never.",
        1,
        Range(0),
    )
    samples: int = key(
        "Number of dev sentences, or lists with model=rerank, shown in TensorBoard next to their references.",
        10,
        Range(0),
    )
    reporter: str | None = key(
        "MODULE.FUNCTION: your function that receives the tag, value and step of each figure as it arises.", None
    )
    row: RowConfig | None = key("The row of a paper's table that this run repeats; experiments set it.", None)
    nbest: str | None = key("For model=rerank: an n-best list.", None)
    references: list[str] = key("Its tokenised references.", [])
    nbest_source: str | None = key("Its source.", None)
    first_id: int | None = key(
        "The number of its first sentence; null: 0, or the first number in the list.", None, Range(0)
    )
    source: Any = field(default_factory=StoredSourceConfig)
    model: Any = field(default_factory=ModelConfig)
    loss: Any = field(default_factory=LossConfig)
    decoder: Any = field(default_factory=DecoderSettings)
    cluster: Any = field(default_factory=ClusterConfig)

    @property
    def tune(self) -> Any:
        """The keys of the tuner, or those that online training shares with tuners; None for other trainings."""
        if self.source.name != ONLINE:
            return self.loss.tune
        return TuneConfig(ONLINE, self.source.split, self.source.text, self.source.references, self.source.start)

    @property
    def base_run(self) -> Path:
        """The run to start from, if there is one."""
        return Path(str(self.base))

    @property
    def work_directory(self) -> WorkDirectory:
        """The work directory.

        Raises:
            InputError: it is not prepared.
        """
        from xlate.work.directory import WorkDirectory

        return WorkDirectory(Path(self.work)).check()


@dataclass
class GlossaryConfig:
    """A glossary and its use."""

    glossary: str | None = key(
        "A file of terms: source phrase, TAB or |||, translation; wor* stands for every word that begins with wor.",
        None,
    )
    terms: str = key(
        "hard: the glossary's translation of a term is the only one; soft: it competes with others.", "hard", USES
    )


@dataclass
class TranslateConfig(GlossaryConfig, Command):
    """xlate translate run=RUN < in > out."""

    run: str = key(
        "The run to translate with, or the joshua.config, cdec.ini or hierarchical moses.ini of another system, "
        "which is decoded bottom-up.",
    )
    work: str | None = key(WORK, None)
    input: str | None = key("The text to translate; null or -: standard input.", None)
    output: str | None = key("The file for the translations; null or -: standard output.", None)
    nbest: int = key("Number of translations per line.", 1, LISTED)
    nbest_out: str | None = key("A file for the n-best lists.", None)
    lattice_out: str | None = key(
        "A folder for the translation graph of every line, as OpenFst text (fst) or HTK standard lattices (slf).",
        None,
    )
    lattice_format: str = key("The lattice format: fst or slf.", "fst", ("fst", "slf"))
    target: str | None = key(
        "Forced decoding: a file with one translation per line. If possible, each line is translated into its given "
        "translation.",
        None,
    )
    tables: str | None = key("A folder with one phrase table per line: 0 or 0.gz for the first.", None)
    processes: int = key("Number of processes that translate lines in parallel (phrase model).", 1, PROCESSES)
    distinct: bool = key("N-best lists contain each text only once.", True)
    trace: bool = key("Print to standard error how each translation was built.", False)
    detokenize: bool = key("Print plain text; false: tokens separated by spaces.", True)
    fast: bool = key("Use the compiled search; false: the readable one, which has no cube pruning.", True)
    decoder: dict[str, Any] = field(default_factory=dict)
    cluster: Any = field(default_factory=ClusterConfig)


@dataclass
class ImportConfig(Command):
    """xlate import: a system of Moses, Joshua or cdec → run."""

    moses: str | None = key("The moses.ini of a phrase-based or hierarchical system.", None)
    grammar: str | None = key(
        "The joshua.config, cdec.ini or hierarchical moses.ini of a system whose whole grammar is decoded bottom-up.",
        None,
    )
    out: str = key("The folder of the run to create.")
    filter: str | None = key(
        "A text in the form that will be translated: keep only the phrases or rules that it needs. Null: keep all.",
        None,
    )
    pair: str | None = key(
        "Source and target language, such as de-en: the run reads raw text and writes plain text. Null: it reads and "
        "writes tokens separated by spaces.",
        None,
    )
    tokenize: bool = key(
        "Tokenise raw text as Moses does, with &apos; and @-@ if the system has them. False: tokens are separated by "
        "spaces.",
        True,
    )
    case: str | None = key(
        "Lowercase raw text (lower), truecase it (true), or leave it (keep); null: lower if the system's words have "
        "no capitals, else keep.",
        None,
        CASES,
    )
    truecase: list[str] = key("For case=true: the two models of Moses's train-truecaser, source and target.", [])
    decoder: dict[str, Any] = field(default_factory=dict)


@dataclass
class ExportConfig(Command):
    """xlate export: a run of the phrase model → tables, language model and moses.ini in a folder."""

    run: str = key("The run.")
    work: str | None = key(WORK, None)
    out: str = key("The folder for the tables and moses.ini.")
    input: str | None = key(
        "A text: each line gets its own phrase table, with the predictions in context if the run has any.",
        None,
    )
    reordering: str = key(
        "Where such tables have reordering scores: in separate files (files), or as six more scores (scores).",
        "files",
        ("files", "scores"),
    )


@dataclass
class PackConfig(Command):
    """xlate pack run=RUN out=FILE.tar: a run with everything needed to translate, as one file; any other out= is a
    folder.
    """

    run: str = key("The run.")
    out: str = key("The file to write if the name ends in .tar, otherwise the folder.")
    input: str | None = key(
        "A text in the source language; the packed run keeps five of its lines to check itself; null: lines of the "
        "dev set.",
        None,
    )
    work: str | None = key(WORK, None)


@dataclass
class InspectConfig(Command):
    """xlate inspect run=RUN: the largest weights in words; sentence= explains one translation; diff=RUN compares
    two runs; weights=FILE writes all weights, one line of name, TAB and weight per weight.
    """

    run: str = key("A finished run.")
    work: str | None = key(WORK, None)
    top: int = key("Number of largest positive and negative weights shown; with sentence=, per phrase.", 10, COUNT)
    family: str | None = key(
        "Show sparse features of one family only: its name or a part of it between colons, such as source_first or "
        "top80.",
        None,
    )
    find: str | None = key(
        "Part of the features' names; for a classifier in context, a source word or phrase whose contexts to show.",
        None,
    )
    diff: str | None = key("Another run: show how the weights of run differ from its weights.", None)
    sentence: str | None = key(
        "A line to translate; a classifier shows its phrases with and without their context.",
        None,
    )
    weights: str | None = key("A file to write all weights to, with their names.", None)


@dataclass
class ServeConfig(GlossaryConfig, Command):
    """xlate serve run=RUN: translates over HTTP, POST /translate {"text": …, "nbest": …, "explain": …}, GET
    /health, GET /openapi.json, and a page.
    """

    run: str = key("A finished run.")
    other: str | None = key("Another run, whose translations the page shows next to those of run.", None)
    work: str | None = key(
        "The work directory of run, if it has moved since training and is not in the same place relative to the "
        "run; other tries this directory first, too.",
        None,
    )
    host: str = key("The address to listen on; only this machine can reach 127.0.0.1.", "127.0.0.1")
    port: int = key("The port; 0 takes any free port.", 8000, Range(0, 65535))
    allow: list[str] = key(
        "Other hosts that clients may use in the address, or whose pages may send requests: [mt.example.org]. "
        "Requests for any host except these, localhost and host are refused.",
        [],
    )
    max_bytes: int = key("The largest accepted request, in bytes.", 65536, COUNT)
    max_words: int = key("The longest accepted sentence, in words.", 200, COUNT)
    max_nbest: int = key("The longest list of translations.", 100, LISTED)
    max_texts: int = key("The most texts per request.", 100, COUNT)


@dataclass
class NbestConfig(GivenListsConfig, Command):
    """xlate nbest check|import|oracle|rescore|pairs|score FILE [ref=[REF,…]] [weights=FILE] [out=…]."""

    positional = ("action", "nbest")
    action: str = key("What to do with the list.")
    nbest: str = key("The n-best list.")
    ref: list[str] = key("check, import, oracle, rescore, pairs: tokenised references, one file each.", [])
    weights: str | None = key("check, rescore: a file of weights, NAME= VALUE on each line.", None)
    run: str | None = key("rescore: a run of model=rerank. score: a run of model=transformer, in place of lm.", None)
    source: str | None = key("oracle, rescore, pairs, score: the source of the list.", None)
    first_id: int | None = key(
        "check, import, oracle, rescore, pairs, score: the number of the first sentence.", None, Range(0)
    )
    mbr: str = key(
        "rescore: rank by the mean bleu or chrf with the other hypotheses of the list as references; none: do not.",
        "none",
        ("none", "bleu", "chrf"),
    )
    out: str | None = key("import, oracle, rescore, pairs, score: the file for the result; -: standard output.", None)
    best_out: str | None = key("rescore: a file for the best hypotheses; line N belongs to sentence N.", None)
    metric: str = key(
        "pairs: the gain: bleu, chrf, ter, a mixture like bleu:1,chrf:1, or column (the feature gain_column).",
        "bleu",
    )
    gain_column: str | None = key("pairs: with metric=column, the feature that holds the gain.", None)
    pairs: int = key(
        "pairs: how many pairs per list: the best and the worst, the second best and the second worst, …",
        1,
        LISTED,
    )
    least_margin: float = key("pairs: the least difference in gain of a pair, from 0 to 1.", 0.05, NOT_NEGATIVE)
    lm: str | None = key(
        "score: an ARPA language model; its log probabilities of the hypotheses become a column for add_scores.",
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
class MeasuringConfig:
    """How outputs are measured."""

    ref: list[str] = key("Reference files; by default, a run uses those of its work directory.", [])
    split: str = key("For runs: use the outputs of test or dev.", "test", SPLITS)
    lowercase: bool = key("Ignore case.", False)
    tokenize: str = key("Tokenisation for BLEU: 13a, intl, none, char …", "13a")


@dataclass
class ScoreConfig(MeasuringConfig, Command):
    """xlate score hyp=[OUT,…] ref=[REF,…] [against=[OTHER,…]]."""

    hyp: list[str] = key("Outputs: text files or runs; several count as runs of one system, for example with seeds.")
    against: list[str] = key("Outputs of another system for the paired test: as many as in hyp, or one.", [])
    measures: list[str] = key("Which of bleu, chrf, ter, nist, lexacc.", [*MEASURES], MEASURES)
    columns: list[str] = key(
        "Scores computed elsewhere, [NAME=FILE,…]: one file per output, in the same order, one number per sentence.",
        [],
    )
    against_columns: list[str] = key("The same for the other system.", [])
    bootstrap: int = key("Bootstrap samples for intervals and paired tests.", 1000, Range(0, 10**6))
    seed: int = key("Seed of these samples.", 12345, SEED)
    out: str | None = key("A file for the figures, as JSON.", None)


@dataclass
class ReportConfig(Command):
    """xlate report runs/…."""

    positional = "runs"
    runs: list[str] = key("Runs, or folders of runs.", ["runs"])
    out: str = key("The folder to write to.", "report")
    plots: bool = key("Draw the plots.", True)
    html: bool = key("Write report.html, a single page that needs no other file.", True)
    split: str | None = key(
        "The outputs to show and test: test or dev; null: test if a run has translated it (measure_test=true), "
        "otherwise dev.",
        None,
        SPLITS,
    )
    sentences: int = key("Number of sentences shown side by side.", 100, Range(0))
    explained: int = key(
        "Number of these sentences to explain with the best run: pictures of reordering, and the deciding features.",
        3,
        Range(0),
    )


@dataclass
class CompareConfig(MeasuringConfig, Command):
    """xlate compare A B [ref=[REF,…]] [src=FILE]."""

    positional = ("a", "b")
    a: str = key("A system: a text file or a run.")
    b: str = key("The system to compare it with.")
    src: str | None = key(
        "The source text, shown with examples; by default, a run uses that of its work directory.", None
    )
    train: str | None = key(
        "The target side of the training text, for buckets by word frequency; by default, a run uses that of its work "
        "directory.",
        None,
    )
    top: int = key("Number of n-grams and examples on each side.", 10, Range(0))
    out: str | None = key("A folder for compare.txt and compare.html; null: only print the text.", None)


@dataclass
class DemoConfig(Command):
    """xlate demo: the full pipeline on the built-in corpus."""

    work: str = key("The names of the work directories begin with this.", "work/demo")
    run: str = key("The folder for the runs.", "runs/demo")
    seed: int = key("Seed of the sampled sentences and the trainings.", 1, SEED)
    sentences: int = key("Number of sentences to translate and score; training uses 4,000 pairs.", 1000, SENTENCES)


@dataclass
class AlignCommandConfig(Command):
    """xlate align source=S target=T out=LINKS."""

    source: str = key("Tokenised text of the source side.")
    target: str = key("Tokenised text of the target side, parallel line by line.")
    out: str = key("The file for the links, in Pharaoh format.")
    method: str | None = key("eflomal, fast_align, hmm, ibm1, ibm2 or ibm4; null: eflomal.", None)
    symmetrization: str | None = key(
        "How to combine both directions; null: grow-diag-final-and, or as when the model of load= was saved.", None
    )
    seed: int = key("Seed of the sampler; only eflomal samples.", 1, SEED)
    sample: int | None = key(
        "Train on so many pairs, evenly spaced over the text, and align all with the model; null: on all.", None, COUNT
    )
    save: str | None = key("A folder for the trained model.", None)
    load: str | None = key("A saved model to align with, instead of training one.", None)


@dataclass
class LmCommandConfig(Command):
    """xlate lm text=T order=5 out=LM.arpa.gz."""

    text: list[str] = key("Tokenised text, one or more files.")
    order: int = key("The longest n-grams, in words.", 5, ORDER)
    out: str = key("The ARPA file for the model; .gz compresses it.")
    perplexity: str | None = key("A text: print the model's perplexity on it.", None)


@dataclass
class PhrasesCommandConfig(Command):
    """xlate phrases source=S target=T links=LINKS out=phrase-table.gz."""

    source: str = key("Tokenised text of the source side.")
    target: str = key("Tokenised text of the target side.")
    links: str = key("Their links, in Pharaoh format.")
    out: str = key("The file for the phrase table, in Moses format.")
    max_length: int = key("The longest phrase, in words.", 7, PHRASE_LENGTH)


@dataclass
class AerCommandConfig(Command):
    """xlate aer links=A gold=G."""

    links: str = key("The links to evaluate, in Pharaoh format.")
    gold: str = key("The gold links.")
    swapped: bool = key("The links to evaluate have the target position first.", False)


@dataclass
class DictionaryConfig(Command):
    """xlate dictionary work=WORK out=FILE."""

    work: str = key("The work directory with the word links.")
    out: str = key(
        "The file: columns separated by tabs, or JSON lines if the name ends in .jsonl; a final .gz compresses it; "
        "-: standard output.",
        "-",
    )
    least_count: int = key("The least number of links between two words.", 2, COUNT)
    least_probability: float = key("The least probability of each word given the other.", 0.1, PROBABILITY)
    least_significance: float = key(
        "The least log-likelihood ratio G² of a pair; at 10.83, chance alone links two words so often with p < 0.001.",
        10.83,
        NOT_NEGATIVE,
    )
    words_only: bool = key("Leave out words with a digit or without a letter.", True)
    most: int | None = key("The most translations per source word; null: all.", None, COUNT)


@dataclass
class TagConfig(Command):
    """xlate tag language=de < raw > tagged."""

    language: str = key("The language of the lines; HanTa has models for de, en and nl.")
    classes: str | None = key(
        "A file of word classes (word TAB class) that tags instead of HanTa, in any language.",
        None,
    )
    tokenize: bool = key("Tokenise the lines; false: they are already tokens separated by spaces.", True)
    input: str | None = key("The text; null or -: standard input.", None)
    output: str | None = key("The file for the tokens; null or -: standard output.", None)


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
