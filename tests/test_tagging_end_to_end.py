"""Tagged text from the command line: `xlate tag` before prepare and translate, and prepare that tags by itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.models.hierarchical.definition import score_rules_of
from tests.test_processes_end_to_end import begun
from tests.work.test_annotated_text import values
from xlate.config.stored import config_of_run
from xlate.demo.corpus import DemoCorpus, Split
from xlate.models.context.classifiers import context_model
from xlate.models.kind import open_system
from xlate.scoring.weights import load_weights
from xlate.text.classes import write_classes
from xlate.text.factors import FactorNames
from xlate.text.lines import read_lines, write_lines
from xlate.work.directory import WorkDirectory

SIZES: dict[Split, int] = {"train": 120, "dev": 12, "test": 12}
RAW = ["data=demo", *(f"data.generated.{split}={size}" for split, size in SIZES.items()), "align=fast_align"]
QUICK = ["model=floats", "loss=uniform", "decoder=mon", "samples=0"]
POS = FactorNames(("pos",))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in corpus as tokens, the source lines tagged by classes of its words."""
    folder = tmp_path_factory.mktemp("tagged")
    classes: dict[str, str] = {}
    for split, size in SIZES.items():
        sentences = DemoCorpus(1).sentences(size, split)
        for sentence in sentences if split == "train" else ():
            for word, name in zip(sentence.source, sentence.classes, strict=True):
                classes.setdefault(word.lower(), name)
        write_lines(folder / f"{split}.raw", [" ".join(sentence.source) for sentence in sentences])
        for number in range(2):
            write_lines(folder / f"{split}.tgt.{number}", [" ".join(s.references[number]) for s in sentences])
    write_classes(folder / "classes", classes)
    for split in SIZES:
        files = [f"input={folder / split}.raw", f"output={folder / split}.src"]
        succeed("tag", "language=src", f"classes={folder / 'classes'}", "tokenize=false", *files)
    return folder


def translated(run: Path, source: Path, out: Path) -> list[str]:
    succeed("translate", f"run={run}", f"input={source}", f"output={out}")
    return read_lines(out)


def test_tagged_text_goes_the_whole_way(text: Path, tmp_path: Path) -> None:
    given = [
        "data.name=x",
        "data.pair=src-tgt",
        f"data.train_source=[{text}/train.src]",
        f"data.train_target=[{text}/train.tgt.0]",
        f"data.dev_source={text}/dev.src",
        f"data.dev_references=[{text}/dev.tgt.0,{text}/dev.tgt.1]",
        "data.source_factors=[pos]",
        "data.tokenize=false",
    ]
    path, run = tmp_path / "work", tmp_path / "run"
    succeed("prepare", f"work={path}", "data=files", "align=fast_align", *given)
    work = WorkDirectory(path)
    pos = work.factor_vocabulary("source", "pos")
    tags = [POS.split(line)[1]["pos"] for line in read_lines(text / "train.src")]
    assert values(work.factor("source", "pos"), pos) == tags
    assert {"NOUN", "PUNCT"} <= {tag for line in tags for tag in line}
    succeed("train", f"work={path}", f"run={run}", *QUICK)
    out = translated(run, text / "dev.src", tmp_path / "out")
    assert out == translated(run, text / "dev.raw", tmp_path / "out") == read_lines(run / "dev.out")
    assert all(out)


@pytest.fixture(scope="module")
def tagged(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work directory whose source text was tagged as it was prepared."""
    path = tmp_path_factory.mktemp("prepared") / "tagged"
    tagger = ["data.tagger=classes", f"data.tagger_classes={text / 'classes'}"]
    succeed("prepare", f"work={path}", *RAW, *tagger)
    return path


def test_tags_are_contexts_of_classifiers(tagged: Path, tmp_path: Path) -> None:
    small = ["model.bits=12", "model.folds=2", "model.words=[all]", "model.factors=[pos]", "loss.epochs=1", "samples=0"]
    succeed("train", "model=context", f"work={tagged}", f"run={tmp_path / 'run'}", *small)
    work = WorkDirectory(tagged)
    words = work.training_tokens("source")[0]
    (found,) = context_model(tmp_path / "run", work).factors(words)
    pos = work.factor_vocabulary("source", "pos")
    assert [pos.word(number) for number in found.tolist()] == work.source_tags(words)


def test_tags_are_kinds_of_words_in_structure_features(text: Path, tagged: Path, tmp_path: Path, refused: Said) -> None:
    run = tmp_path / "run"
    rules = ["model=hierarchical", "decoder.pop_limit=20", "decoder.stack=20", f"work={tagged}", "structure=surface"]
    rules += ["source=online", "source.iterations=1", "source.nbest=10", "samples=0"]
    succeed("train", *rules, f"run={run}", "model.structure.words=[all,pos]")
    names = [name for *_, name, _ in load_weights(run / "weights.safetensors").learned("hierarchical")]
    prepared = WorkDirectory(tagged)
    tags = set(prepared.factor_vocabulary("source", "pos").words[3:])
    known = set(prepared.target_vocabulary.words)
    seen = [re.fullmatch(r"word_pair:pos,all\((.*?),(.*)\)", name) for name in names]
    assert {match[1] for match in seen if match} <= tags
    assert {match[2] for match in seen if match} <= known
    assert any(seen)
    assert any(name.startswith("parent_child:pos,pos(") for name in names)
    system = open_system(run, config_of_run(run))[0].with_search(nbest=10)
    for derivation in system.translate(prepared.source_tokens(read_lines(text / "dev.raw")[0])):
        again = score_rules_of(system.model, system.weights_D, derivation.source, derivation.steps, system.sparse_F)
        assert again.score == pytest.approx(derivation.score)
    wrong = "model.structure.words=[all,lemma]"
    assert "digits, pos, or two files" in refused("train", *rules, f"run={tmp_path / 'refused'}", wrong)


def test_a_line_of_a_pipe_is_tagged_before_the_next_is_written(text: Path) -> None:
    with begun("tag", "language=src", f"classes={text / 'classes'}") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"Zzz.\n", b"\n", b"a|b\n"):
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline().decode()
            assert answer.count("|") == answer.count(" ") + bool(answer.strip())
        rest, _ = process.communicate(b"Zzz")
    assert (process.returncode, rest) == (0, b"Zzz|UNKNOWN\n")


def test_what_cannot_be_tagged_is_said(tmp_path: Path, refused: Said) -> None:
    (tmp_path / "in").write_bytes(b"Haus\n\xff\n")
    (tmp_path / "classes").write_text("Haus\tN\n")
    tag = ["tag", "language=de", f"classes={tmp_path / 'classes'}", f"output={tmp_path / 'out'}"]
    assert "in:2: not UTF-8" in refused(*tag, f"input={tmp_path / 'in'}")
    assert not (tmp_path / "out").exists()
    assert "cannot be read" in refused(*tag, f"input={tmp_path / 'absent'}")
    assert "the tagger HanTa" in refused("tag", "language=fr", f"input={tmp_path / 'in'}")
