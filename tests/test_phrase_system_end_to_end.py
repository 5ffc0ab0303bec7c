"""The phrase system on a small built-in corpus: tuning, translation, Moses's formats out and in, block models tuned."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, succeed, summary_of, translations
from tests.made_once import made_once
from tests.test_end_to_end import run, work  # noqa: F401
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.jobs.translate import MARK, Translator
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.phrase.model import PhraseModel
from xlate.text.lines import read_lines, write_lines
from xlate.work.directory import WorkDirectory

FEW = ["loss.tune.rounds=2", "loss.tune.nbest=20", "decoder.pop_limit=50"]
SEARCH = ["decoder.options=15", "decoder.threshold=1e-6", "decoder.max_phrase=5", "decoder.stack=150"]
PHRASE = ["model=phrase", "decoder=phrase", *FEW, *SEARCH]


def trained(work: Path, folder: Path, *overrides: str) -> dict:  # noqa: F811
    """The figures of a training without pictures, which take as long as it does, unless it names some."""
    succeed("train", f"work={work}", f"run={folder}", "samples=0", *overrides)
    return summary_of(folder)


def translated(run: Path, folder: Path, *overrides: str) -> list[str]:  # noqa: F811
    """The translations of three lines, of which the second is empty."""
    return translations(run, folder, ["Nirka no holdo va bolko ast.", "", "Gonban va fuspan ri pikum nu."], *overrides)


def listed(run: Path, folder: Path, *overrides: str) -> tuple[list[str], str]:  # noqa: F811
    """The same translations, and their n-best lists as text."""
    lines = translated(run, folder, "nbest=5", f"nbest_out={folder / 'nbest'}", *overrides)
    return lines, (folder / "nbest").read_text()


@pytest.fixture(scope="module")
def phrase_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "phrase", lambda folder: train_phrases(work, folder))


def train_phrases(work: Path, folder: Path) -> None:  # noqa: F811
    figures = trained(work, folder, *PHRASE, "loss=mira", "measure_test=true")
    assert figures["test_bleu"] > 20


@pytest.fixture(scope="module")
def moses(phrase_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of the run exported for Moses."""
    folder = tmp_path_factory.mktemp("export") / "moses"
    succeed("export", f"run={phrase_run}", f"out={folder}")
    return folder / "moses.ini"


@pytest.fixture(scope="module")
def imported(moses: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of that system imported again."""
    folder = tmp_path_factory.mktemp("import") / "back"
    succeed("import", f"moses={moses}", f"out={folder}")
    return folder


@pytest.mark.parametrize(
    ("loss", "metric", "name"),
    [
        (["loss=mert", "loss.tune.restarts=2"], "bleu:1,ter:1", "objective"),
        # What is no BLEU is not called so.
        (["loss=ramp", "model.reordering=wbe"], "bleu", "BLEU"),
    ],
)
def test_tuners_tune_for_bleu_and_for_several_measures(
    work: Path,  # noqa: F811
    tmp_path: Path,
    loss: list[str],
    metric: str,
    name: str,
) -> None:
    figures = trained(work, tmp_path / "run", *PHRASE, *loss, f"loss.tune.metric='{metric}'", "measures=[bleu]")
    assert "dev_bleu" in figures
    assert "dev_ter" not in figures
    values = [one["bleu"] for one in figures["history"]]
    assert {key: figures[key] for key in figures if key in ("tune_BLEU", "tune_objective")} == {
        f"tune_{name}": round(max(values), 4)
    }
    assert 100 > max(values[1:]) > (20 if name == "BLEU" else values[0])
    assert figures["rounds"] == len(values) - 1
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count(f"tune/{name}") == len(values)


def test_forced_decoding_and_lattices(phrase_run: Path, tmp_path: Path, refused: Said) -> None:
    lines = translated(phrase_run, tmp_path)
    (tmp_path / "targets.txt").write_text("\n".join([lines[0], "", "zzz"]) + "\n")
    forced = translated(
        phrase_run,
        tmp_path,
        f"target={tmp_path / 'targets.txt'}",
        f"nbest_out={tmp_path / 'n.txt'}",
        f"lattice_out={tmp_path / 'lattices'}",
    )
    assert forced == [lines[0], "", ""]
    assert len((tmp_path / "n.txt").read_text().splitlines()) == 2
    assert sorted(path.name for path in (tmp_path / "lattices").iterdir()) == ["0.fst", "2.fst", "words.txt", MARK]
    (tmp_path / "targets.txt").write_text("one\n")
    refused("translate", f"run={phrase_run}", f"input={tmp_path / 'in.txt'}", f"target={tmp_path / 'targets.txt'}")


def test_every_line_can_have_a_table_of_its_own(phrase_run: Path, tmp_path: Path, refused: Said) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    # A table that knows one word in its own way is followed, and what it lacks stands for itself.
    row = "nirka ||| entirely new ||| 1 1 1 1 ||| 0-0 0-1 ||| 1 1 1 ||| |||\n"
    for number, text in enumerate([row, "", ""]):
        (tables / str(number)).write_text(text)
    found = translated(phrase_run, tmp_path, f"tables={tables}")
    expected = ["entirely new no holdo va bolko ast.", "", "gonban va fuspan ri pikum nu."]
    assert [line.lower() for line in found] == expected
    (tmp_path / "out.txt").rename(tmp_path / "known.txt")
    assert translated(phrase_run, tmp_path, f"tables={tables}", f"target={tmp_path / 'known.txt'}") == found
    (tables / "2").unlink()
    asked = ["translate", f"run={phrase_run}", f"input={tmp_path / 'in.txt'}", f"tables={tables}"]
    assert "2.gz for sentence 2" in refused(*asked)
    assert "lattice_out= cannot be combined" in refused(*asked, f"lattice_out={tmp_path / 'lattices'}")


def test_an_export_replaces_only_exports(phrase_run: Path, tmp_path: Path, refused: Said) -> None:
    mine, ours, export = tmp_path / "mine", tmp_path / "ours", ["export", f"run={phrase_run}"]
    mine.mkdir()
    (mine / "moses.ini").write_text("[feature]\n")
    refused(*export, f"out={mine}")
    for _ in range(2):
        succeed(*export, f"out={ours}")
    (ours / "notes").write_text("mine")
    refused(*export, f"out={ours}")
    assert (ours / "notes").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "ours"]


def test_export_and_import_give_the_same_translations(
    phrase_run: Path, moses: Path, imported: Path, tmp_path: Path
) -> None:
    with gzip.open(moses.with_name("phrase-table.gz"), "rt") as stream:
        assert len(stream.readline().split(" ||| ")[2].split()) == 4
    one, two = (read_config(folder / "config.yaml", TrainConfig) for folder in (phrase_run, imported))
    assert one.decoder == two.decoder
    assert_all_bits_alike(open_phrase_model(phrase_run, one), open_phrase_model(imported, two))
    tokens = translated(phrase_run, tmp_path, "detokenize=false")
    given = f"input={tmp_path / 'tokens.txt'}"
    (tmp_path / "tokens.txt").write_text("nirka no holdo va bolko ast .\n\ngonban va fuspan ri pikum nu .\n")
    succeed("import", f"moses={moses}", f"out={tmp_path / 'small'}", f"filter={tmp_path / 'tokens.txt'}")
    for folder in (imported, tmp_path / "small"):
        succeed("translate", f"run={folder}", given, f"output={tmp_path / 'again.txt'}")
        assert [line.lower() for line in tokens] == (tmp_path / "again.txt").read_text().lower().splitlines()
    pairs = [summary_of(one)["pairs"] for one in (imported, tmp_path / "small")]
    assert 0 < pairs[1] < pairs[0] / 2
    succeed("export", f"run={imported}", f"out={tmp_path / 'moses'}")
    for name in ("phrase-table.gz", "reordering-table.hier-msd-bidirectional-fe.gz", "lm.arpa.gz"):
        one, two = (gzip.decompress((folder / name).read_bytes()) for folder in (moses.parent, tmp_path / "moses"))
        assert one == two, name


def test_sparse_weights_of_an_imported_system_are_tuned(
    work: Path,  # noqa: F811
    imported: Path,
    tmp_path: Path,
    refused: Said,
) -> None:
    held = WorkDirectory(work)
    sides = (held.source_lines("dev"), held.source_tokens, "s"), (held.references("dev")[0], held.target_tokens, "t")
    for lines, tokens, name in sides:
        (tmp_path / f"dev.{name}").write_text("".join(f"{' '.join(tokens(line))}\n" for line in lines[:60]))
    files = [f"loss.tune.source={tmp_path / 'dev.s'}", f"loss.tune.references=[{tmp_path / 'dev.t'}]"]
    plain = [*PHRASE, "loss=mira", "loss.tune.select=last", f"base={imported}"]
    refused("train", *plain, f"run={tmp_path / 'none'}")  # There is nothing to tune on.
    tuned = [*plain, *files, "sparse=local"]
    assert "no text to compute word classes" in refused("train", *tuned, f"run={tmp_path / 'classes'}")
    succeed("train", *tuned, "model.sparse.words=[top80,all]", f"run={tmp_path / 'tuned'}")
    assert summary_of(tmp_path / "tuned")["active_features"] > 5
    translator = Translator.of_run(read_config(tmp_path / "tuned" / "config.yaml", TrainConfig), tmp_path / "tuned")
    decoder = translator.system
    assert isinstance(decoder, PhraseDecoder)
    assert decoder.model.sparse is not None
    assert decoder.model.reordering is not None
    # The most frequent words are told by the counts of one-word phrases.
    (family,) = [f for f in decoder.model.sparse.families if f.name == "reordering:source_first:top80"]
    assert family.left is not None
    assert "." in family.left.labels


def test_an_export_takes_its_truecasing_along(phrase_run: Path, moses: Path, tmp_path: Path) -> None:
    models = [moses.with_name(f"truecase-model.{side}") for side in ("source", "target")]
    usual = [{line.split(" ", 1)[0] for line in path.read_text().splitlines()} for path in models]
    assert {"va", "pikum"} <= usual[0]
    assert any(word != word.lower() for word in usual[1]), "names"
    given = ["pair=src-tgt", f"truecase=[{models[0]},{models[1]}]", f"out={tmp_path / 'back'}"]
    succeed("import", f"moses={moses}", *given)
    assert translated(tmp_path / "back", tmp_path) == translated(phrase_run, tmp_path)


def assert_all_bits_alike(before: PhraseModel, after: PhraseModel) -> None:
    tables = []
    for model in (before, after):
        assert model.reordering is not None
        numbers = np.hstack([model.table.scores_B4, model.reordering.probability_BK2, model.table.count_B[:, None]])
        tables.append(numbers[np.lexsort(numbers.T)])
    assert np.array_equal(tables[0], tables[1], equal_nan=True)


def test_words_that_hold_bars_come_back_from_an_export(tmp_path: Path) -> None:
    words = ["das", "haus|NN", "ist", "a|||b", "klein"]
    lines = [" ".join(words[(start + step) % 5] for step in range(4)) for start in range(5)] * 3
    source, target, plain, escaped = (tmp_path / name for name in ("train.de", "train.en", "plain", "escaped"))
    write_lines(source, lines)
    write_lines(target, [line.upper() for line in lines])
    data = {"name": "bars", "pair": "de-en", "tokenize": "false", "case": "keep", "dev_source": source}
    data |= {"train_source": f"[{source}]", "train_target": f"[{target}]", "dev_references": f"[{target}]"}
    succeed("prepare", f"work={tmp_path / 'work'}", "data=files", *(f"data.{key}={data[key]}" for key in data))
    own, back, moses = tmp_path / "own", tmp_path / "back", tmp_path / "moses"
    trained(tmp_path / "work", own, *PHRASE, "loss=mira", "loss.tune.rounds=1")
    succeed("export", f"run={own}", f"out={moses}")
    succeed("import", f"moses={moses / 'moses.ini'}", f"out={back}")
    write_lines(plain, ["das haus|NN a|||b klein"])
    write_lines(escaped, ["das haus&#124;NN a&#124;&#124;&#124;b klein"])
    found = []
    for folder, text in ((own, plain), (back, escaped)):
        files = [f"input={text}", f"output={text}.out", f"nbest_out={text}.list"]
        succeed("translate", f"run={folder}", *files, "nbest=5")
        totals = [line.split(" ||| ")[3] for line in read_lines(f"{text}.list")]
        found.append((Path(f"{text}.out").read_text().replace("&#124;", "|"), totals))
    assert len(found[0][1]) == 5
    assert found[0] == found[1]
