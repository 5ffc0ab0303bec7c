"""Every reader of a file in the package, with a small valid file for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np

from tests.candidates.test_store import units
from tests.models.grammar.test_moses_system import write_moses_system
from tests.models.phrase.moses_system import ARPA, TABLE, write_system
from tests.models.phrase.small_phrase_models import random_phrase_model
from xlate.align.aligner import align, align_with
from xlate.align.links import read_gold, read_hypothesis_links, read_links
from xlate.candidates.datapoints import read_datapoints
from xlate.candidates.nbest import (
    NbestArrays,
    NbestCandidates,
    nbest_candidates,
    reference_rows,
)
from xlate.candidates.store import CandidateStore, StoreWriter, shard_path
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config, to_yaml
from xlate.features.index import NamedFeatures
from xlate.formats.cdec import read_cdec_grammar, read_cdec_system, read_cdec_weights, read_joshua_system
from xlate.formats.moses_ini import read_moses_ini
from xlate.formats.moses_rules import read_moses_grammar, read_moses_system
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.nbest_check import check_nbest
from xlate.formats.nbest_file import NbestFile, nbest_arrays
from xlate.formats.nbest_list import iterate_hypotheses
from xlate.formats.records import ranked_records
from xlate.formats.reordering_table import read_reordering_table
from xlate.formats.scfg import ForeignSystem
from xlate.formats.sentence_tables import INPUT, MARK, OURS, TableFolder
from xlate.jobs.imports import search_of
from xlate.jobs.translate import PreparedText
from xlate.learning.loop import Standing, TrainState
from xlate.learning.run import Checkpoint
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.grammar.system import GrammarSystem
from xlate.models.pack_format import Pack, Sentence, extract, read_pack, write_archive, write_pack
from xlate.models.phrase.model import load_phrase_model, save_phrase_model
from xlate.models.phrase.moses import moses_model
from xlate.report.run_directory import Records, RunDirectory
from xlate.scoring.feature_weights import load_feature_weights, rescored
from xlate.scoring.weights import Weights, load_weights, save_weights
from xlate.search.settings import GrammarSearch, PhraseSearch
from xlate.text.classes import open_tagger, read_classes
from xlate.text.documents import read_documents
from xlate.text.factors import FactorNames, read_factored
from xlate.text.lines import read_lines
from xlate.text.numbers import read_column
from xlate.text.terms import read_terms
from xlate.text.tokens import Truecaser
from xlate.text.vocabulary import TokenText, Vocabulary
from xlate.text.word_parts import WordSplitter
from xlate.work.corpus_parts import PartSide
from xlate.work.settings import LmConfig
from xlate.work.stages import read_stage, run_stage

PAIRS = [["das", "haus"], ["haus"]], [["the", "house"], ["house"]]
RAW = PreparedText("de", "en", True, "lower", True, False)


@dataclass(frozen=True)
class Reader:
    """Something that reads files.

    Attributes:
        name: of the function, as `name` or `Class.name`, and what is read where there are several.
        make: writes valid files into a folder; those found there afterwards are damaged in turn.
        read: reads them, and goes on to where what was read is first looked at.
        share: of the mutations of a quick run, smaller for slow readers.
    """

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    share: float = 1.0


def text(content: str, name: str = "file") -> Callable[[Path], object]:
    """Writes one text file."""
    return lambda folder: (folder / name).write_text(content, encoding="utf-8")


def of(function: Callable[..., object], *more: Any, **named: Any) -> Callable[[Path], object]:
    """Calls a function with the file's path first."""
    return lambda folder: function(folder / "file", *more, **named)


def of_text(function: Callable[..., object], content: str, *more: Any, share: float = 1.0) -> Reader:
    """The reader of one text file that is called with its path first."""
    return Reader(function.__qualname__, text(content), of(function, *more), share)


# Lists of Moses, old and new, Joshua, cdec, Phrasal and Marian.
LISTS = {
    "Moses": """\
0 ||| the house ||| LM0= -1.5 TM0= 1 2 ||| -3.25 ||| 0-1=0-1
0 ||| a house ||| LM0= -2.5 TM0= 2 2 sparse= 1 ||| -2 ||| 0=0 1=1 ||| 0-0 1-1
1 ||| it |0-0| is |1-2| ||| LM0= -2 TM0= 0.5 1e-3 ||| -1
""",
    "old Moses": "0||| the  ||| d: 0 -7.6 lm: -1.25 ||| -103.5\n0||| a  ||| d: 0 -7 lm: -2 ||| -104\n",
    "Joshua": "0 ||| the ||| tm_pt_0=-3 lm_0=-2.5 ||| -4.5\n1 ||| a ||| tm_pt_0=-3 lm_0=-2 Glue=1 ||| -4\n",
    "Marian": "1 ||| the ||| 0.5,0.5 1,0 ||| F0= -1.66 ||| -0.8\n3 ||| a ||| 0.5,0.5 ||| F0= -1 ||| -0.5\n",
    "unlabelled": "0 ||| the ||| -1 2 3 ||| 4\n0 ||| a ||| -1 2 2 ||| 3.5\n",
}
INI = """\
[feature]
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=table table-limit=20
LexicalReordering name=LexicalReordering0 type=wbe-msd-bidirectional-fe-allff path=orientations
Distortion
KENLM name=LM0 order=2 path=lm.arpa
WordPenalty
[distortion-limit]
6
[search-algorithm]
1
[stack]
100
[cube-pruning-pop-limit]
500
[beam-threshold]
0.00001
[weight]
LexicalReordering0= 0.1 0.2 0.3 0.4 0.5 0.6
Distortion0= 0.3
LM0= 0.5
WordPenalty0= -0.4
TranslationModel0= 0.1 0.2 0.3 0.4
"""
DECODER = load(TrainConfig, "train", ["model=phrase", "decoder=phrase"]).decoder
# Lists that do not look as if they had bars.
OTHER_STYLES = {
    "fairseq": "S-2\tdas haus\nT-2\tx\nH-2\t-0.5\tthe hou se\nD-2\t-0.5\tthe house\nP-2\t-0.25 -0.75\n"
    "H-2\t-1\ta\nP-2\t-1 -1\n"
    "S-0\tes\nH-0\t-0.25\tit is\nP-0\t-0.25\n2026 | INFO | done\n",
    "jsonl": '{"id": 0, "src": "das", "hyp": "the house", "scores": {"lm": -1.5, "qe": 0.5}, "score": -2}\n'
    '{"id": 0, "hyp": "a house", "scores": {"lm": -2, "qe": 1}, "score": -3}\n'
    '{"id": 1, "src": "es", "hyp": "it is", "scores": {"lm": 1e-3, "qe": 0}, "score": null, "more": [1]}\n',
    "vLLM": '{"request_id": "a", "prompt": "das", "outputs": [{"text": "the house", "cumulative_logprob": -1, '
    '"token_ids": [5], "logprobs": [{"5": {"logprob": -1}}], "qe": 0.5}, {"text": "a house", "qe": 1}]}\n'
    '{"request_id": "b", "prompt": "es", "outputs": [{"text": "it is", "cumulative_logprob": -2, "qe": 0}]}\n',
    "OpenAI": '{"custom_id": "a", "response": {"body": {"choices": [{"message": {"content": "the house"}, "logprobs": '
    '{"content": [{"logprob": -1}]}}, {"message": {"content": "a house"}}]}}}\n'
    '{"custom_id": "b", "response": {"body": {"choices": [{"message": {"content": "it is"}}]}}}\n',
    "Hugging Face": '{"src": "das", "sequences": ["the house", "a house"], "sequences_scores": [-1, -2], "n": [1, 2]}\n'
    '{"src": "es", "sequences": ["it is"], "sequences_scores": [-1], "n": [0]}\n',
    "CTranslate2": '{"id": 0, "hypotheses": [["the", "house"], ["a", "house"]], "scores": [-1, -2]}\n'
    '{"id": 1, "hypotheses": [["it", "is"]], "scores": [-3]}\n',
}
REFERENCES = ["the house", "a house", "it is", "the"]


def as_candidates(arrays: NbestArrays) -> NbestCandidates:
    """Lists with one of these references each."""
    rows = reference_rows(arrays.sentence_I, len(REFERENCES), 0)
    return nbest_candidates(arrays, [[REFERENCES[row]] for row in rows])


def read_lists(folder: Path) -> None:
    """A list as candidates, and under other weights."""
    nbest = NbestFile(folder / "file", duplicates="drop")
    arrays = nbest_arrays(nbest.lists(), nbest.path)
    as_candidates(arrays)
    score_C = arrays.scores(dict.fromkeys(arrays.names, 0.5))
    list(ranked_records(rescored(nbest.lists(), score_C)))


def check_list(folder: Path) -> None:
    check_nbest(NbestFile(folder / "file"), weights={"LM0": 1e300, "lm": 2.0}).summary()
    report = check_nbest(NbestFile(folder / "file"))
    report.to_json()
    # Errors are collected there, and raised by the command.
    if report.errors:
        raise report.errors[0]


def our_weights() -> Weights:
    return Weights(np.array([1.0, -0.5]), np.array([3.0, 0.0, 1e-3]), ("lm", "tm"))


def write_our_weights(folder: Path) -> None:
    save_weights(
        folder / "weights.safetensors", {"model": our_weights()}, features={"model": NamedFeatures(("a", "b", "c"))}
    )


def open_store(folder: Path) -> None:
    store = CandidateStore.open(folder / "store")
    store.batch(range(len(store)))


def small_pack(folder: Path) -> Pack:
    (folder / "config.yaml").write_text("seed: 1\n")
    return write_pack(folder, "1.0", [Sentence("das Haus", "the house", -1.5)])


def write_archived(folder: Path) -> None:
    with TemporaryDirectory() as aside:
        write_archive(Path(aside), small_pack(Path(aside)), "run", folder / "file")


def write_run(folder: Path) -> None:
    run = RunDirectory.create(folder / "run", "seed: 1\n", {"seed": 1, "loss": {"eta": 0.5}})
    run.write_summary({"finished": True, "dev_bleu": 20.5})


def write_checkpoint(folder: Path) -> None:
    sets = {"linked": our_weights()}
    state = TrainState(1, 2, 3, 400, 0.3, 0.7, 0.25, 1, [{"phase": "floats", "P": 0.5}])
    Standing(sets, sets, state, {"mean": np.ones(3)}).save(Checkpoint(folder / "file", "identity"))


def write_shards(folder: Path) -> None:
    for number in (0, 1):
        with StoreWriter(shard_path(folder / "store", number), ["f0"], 0) as writer:
            writer.append(units(number + 1))


def look_at_phrases(folder: Path) -> None:
    model = load_phrase_model(folder / "model")
    for pair in range(len(model.table)):
        model.target_words(pair)
    model.pair_number(("a",), ("u",))


def look_at_system(folder: Path) -> None:
    ini = read_moses_ini(folder / "moses.ini")
    moses_model(ini)
    search_of(ini, DECODER)


CDEC = [
    "[X] ||| das [X,1] ist ||| the [X,1] is ||| 0.5 -1 F=2 ||| 0-0 2-2\n",
    "[X] ||| haus ||| u v ||| 1 1 ||| 0-0 0-1\n",
]
GLUE = (
    "[S] ||| <s> ||| <s> ||| 0\n[S] ||| [S,1] [X,2] ||| [S,1] [X,2] ||| -1\n[S] ||| [S,1] </s> ||| [S,1] </s> ||| 0\n"
)
MOSES_RULES = [
    "das [X][X] ist [X] ||| the [X][X] is [X] ||| 0.5 1 ||| 0-0 1-1 2-2 ||| 4 3 2 ||| f 1 |||\n",
    "haus [X] ||| house [X] ||| 0.25 1e-5 ||| 0-0 ||| 1 1 1 |||\n",
]
JOSHUA_CONFIG = """\
# a comment
feature-function = LanguageModel -lm_order 5 -lm_file lm
feature-function = WordPenalty
tm = thrax -owner pt -maxspan 3 -path grammar
tm = thrax -owner glue -maxspan -1 -path glue
goalSymbol=S
lm_0 0.5
tm_pt_0 -0.25
WordPenalty 1
"""
CDEC_CONFIG = """\
# a comment
formalism=scfg
grammar=grammar
scfg_max_span_limit=3
feature_function=WordPenalty
feature_function=KLanguageModel lm
weights=weights
"""
CDEC_WEIGHTS = "PhraseModel_0 -0.5\nLanguageModel 1e-1\nGlue 2\n"
LINE = "das haus ist hier"


def texts(files: dict[str, str]) -> Callable[[Path], object]:
    """Writes text files."""
    return lambda folder: [text(content, name)(folder) for name, content in files.items()]


write_weights = texts(
    {"moses.ini": "[weight-file]\nsparse\n[weight]\nLM0= 0.5\nTM0= 1 -2 3\n", "sparse": "WT_a~b 0.5\nTB_c -2e-3\n"}
)
write_cdec_system = texts({"cdec.ini": CDEC_CONFIG, "grammar": "".join(CDEC), "weights": CDEC_WEIGHTS, "lm": ARPA})
write_joshua_system = texts({"joshua.config": JOSHUA_CONFIG, "grammar": "".join(CDEC), "glue": GLUE, "lm": ARPA})


def translate_with(read: Callable[[Path], ForeignSystem], name: str, line: str) -> Callable[[Path], object]:
    """Reads a system, and translates a line with it."""
    search = GrammarSearch(pop_limit=5)
    return lambda folder: GrammarSystem.of_foreign(read(folder / name), search).translate(line.split())


TEXT = "Das Haus \u2028 ist klein .\n\u00fcber\tallem\n\nende"
READERS = [
    of_text(read_lines, TEXT),
    of_text(read_factored, "Das|DET Haus|NOUN\n\nklein|ADJ", FactorNames(("pos",)), {}),
    Reader("read_terms", text("haus\thouse\n# no term\nklein* ||| small\n"), of(lambda path: list(read_terms(path)))),
    of_text(read_documents, "Gen.1\nGen.2\nEx.1\n", 3, "[A-Z][a-z]+"),
    of_text(Vocabulary.load, "<unk>\n<s>\n</s>\nthe\nhouse\n"),
    of_text(Truecaser.of_moses, "NASA (3/4) nasa (1)\nthe (9)\n"),
    Reader("PreparedText.load", RAW.save, PreparedText.load, 0.5),
    Reader("WordSplitter.load", text("Haus 3\nun+ 12\n"), of(partial(WordSplitter.load, split=["affixes"]))),
    of_text(Truecaser.load, "NASA\niPod\n\u0130stanbul\n"),
    of_text(read_classes, "the\t1\nhouse\t2\na\t1\n"),
    Reader("read_classes (Brown)", text("0110\tthe\t20\n0111\thouse\t3\n"), of(read_classes)),
    Reader("open_tagger", text("the\t1\nhouse\t2\na\t1\n"), lambda folder: open_tagger("en", folder / "file"), 0.5),
    Reader("align_with", lambda folder: align(*PAIRS, "ibm1", save=folder / "model"),
           lambda folder: align_with(folder / "model", *PAIRS), 0.2),
    of_text(read_links, "0-0 1-1 2-2\n\n0-1\n", [3, 2, 1], [3, 2, 2]),
    of_text(read_gold, "1-1 2p3 4-4\n\n1-2\n"),
    of_text(read_hypothesis_links, "0-0 1-1 2-2\n\n0-1\n"),
    Reader("read_arpa", text(ARPA), lambda folder: NgramModel.from_arpa(read_arpa(folder / "file")), 2),
    of_text(read_phrase_table, TABLE, share=2),
    Reader("TableFolder.open", texts({"0": TABLE, INPUT: "das haus\n", MARK: f"{OURS}\n"}),
           lambda folder: read_phrase_table(TableFolder.open(folder, 1).file(0)), 2),
    Reader("read_reordering_table", write_system, lambda folder: read_reordering_table(
        folder / "orientations", *read_phrase_table(folder / "table")), 2),
    of_text(read_cdec_grammar, "".join(CDEC)),
    Reader("read_moses_grammar", text("".join(MOSES_RULES)), lambda folder: read_moses_grammar(folder / "file", "T")),
    Reader("read_joshua_system", write_joshua_system, translate_with(read_joshua_system, "joshua.config", LINE)),
    of_text(read_cdec_weights, CDEC_WEIGHTS),
    Reader("read_moses_system", write_moses_system, translate_with(read_moses_system, "moses.ini", "ne va pas zz")),
    Reader("read_cdec_system", write_cdec_system, translate_with(read_cdec_system, "cdec.ini", LINE)),
    Reader("read_moses_ini", text(INI), lambda folder: search_of(read_moses_ini(folder / "file"), DECODER), 2),
    Reader("moses_model", write_system, look_at_system, 2),
    *(Reader(f"NbestFile ({name})", text(lines), read_lists) for name, lines in {**LISTS, **OTHER_STYLES}.items()),
    Reader("iterate_hypotheses (quoted)", text('"-1.5 the house"\n"-2 a house"\n'),
           lambda folder: list(iterate_hypotheses(folder / "file"))),
    *(Reader(f"check_nbest ({name})", text(LISTS[name]), check_list) for name in ("Moses", "Marian")),
    of_text(load_feature_weights, "LM0= 0.5\nTM0= 1 -2 3\nWT_a~b 0.5\n"),
    Reader("load_feature_weights (Moses)", write_weights, lambda folder: load_feature_weights(folder / "moses.ini")),
    Reader("load_feature_weights (ours)", write_our_weights, load_feature_weights),
    Reader("load_weights", write_our_weights, lambda folder: list(
        load_weights(folder / "weights.safetensors").learned("model"))),
    of_text(read_datapoints, "1 2 0.5 0.5 2 3 4\n-1 2 0.5 -1e-3 0\n0\n1 2 1 1 1 7\n0\n"),
    Reader("Standing.load", write_checkpoint, lambda folder: Standing.load(Checkpoint(folder / "file", "identity"))),
    Reader("CandidateStore.open (shards of units)", write_shards, open_store),
    Reader("read_config", lambda folder: (folder / "file").write_text(to_yaml(LmConfig(3))), of(read_config, LmConfig)),
    Reader("read_config (decoder)", lambda folder: (folder / "file").write_text(to_yaml(DECODER)),
           of(read_config, PhraseSearch), 0.5),
    Reader("RunDirectory.open", write_run, lambda folder: RunDirectory.open(folder / "run").finished),
    Reader("Records.read", lambda folder: Records(folder / "file").append("loss", 0.5, 3),
           lambda folder: Records(folder / "file").curves()),
    Reader("read_stage", lambda folder: run_stage(folder, "lm", {"order": 3}, lambda _: {"order": 3}),
           lambda folder: read_stage(folder, "lm")),
    Reader("PartSide.load", lambda folder: PartSide(TokenText.of([["a", "b"], ["b"]]), *np.ones((3, 2), np.int64)).save(
        folder / "file"), of(PartSide.load)),
    Reader("read_pack", small_pack, read_pack),
    Reader("read_column", lambda folder: (folder / "file").write_text("0.5\n-1e3\n0\n"),
           lambda folder: read_column(folder / "file", "numbers")),
    Reader("extract", write_archived, lambda folder: extract(folder / "file", Path(mkdtemp(dir=folder.parent)))),
    Reader("load_phrase_model", lambda folder: save_phrase_model(
        folder / "model", random_phrase_model(np.random.default_rng(1), "hier")), look_at_phrases, 0.5),
]  # fmt: skip

# Readers that are not damaged by themselves, and why.
EXCLUDED = {
    "load_part": "what PartSide.load reads with",
    **dict.fromkeys(
        ("load_text", "load_factor", "load_documents", "load_copies", "Windows.load"), "opens what open_arrays reads"
    ),
    **dict.fromkeys(("iterate_lines", "count_lines", "read_references"), "reads what read_lines reads"),
    "ExportedTables.open": "opens a run by open_system, and reads lines by read_lines",
    "load_factor_vocabulary": "a part of load_factor",
    "read_json": "reads the files of RunDirectory.open and read_stage",
    "open_arrays": "reads the folders of NgramModel.load, PhraseTable.load and the other arrays",
    "open_unpacked": "opens what iterate_lines reads",
    "read_header": "reads the header of open_arrays",
    "open_phrase_model": "finds a folder for load_phrase_model by the configuration of a run",
    "open_system": "finds the kind of a run, whose weights load_weights and whose model others read",
    "ClassTagger.read": "what open_tagger reads",
    "TransformerModel.open": "what load_weights reads",
    "load_joint": "reads the weights of a run by load_weights",
    "read_learned": "reads the weights of a checkpoint by load_weights",
    "open_grammar": "opens what read_joshua_system and read_cdec_system read",
    "read_output": "what RunDirectory.open and read_lines read",
    "Ranker.open": "opens a run by RunDirectory.open, load_weights and read_json",
    "Reranker.load": "opens what Ranker.open opens",
    "Translator.load": "opens what Translator.open opens",
    "Translator.open": "opens a run by read_config, load_weights and the models' readers",
}
