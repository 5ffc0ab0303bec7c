"""Packed runs of every system translate as the run does, without a look at what they were packed from."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.test_context_end_to_end import context_run  # noqa: F401
from tests.test_distortion_end_to_end import distortion_run  # noqa: F401
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_hierarchical_end_to_end import rules_run  # noqa: F401
from tests.test_lcs_end_to_end import lcs_run  # noqa: F401
from tests.test_online_end_to_end import jumps_run  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, phrase_run, trained, translated  # noqa: F401
from tests.test_sparse_end_to_end import sparse_run  # noqa: F401
from xlate.config.schema import PackConfig
from xlate.config.stored import config_of_run
from xlate.jobs.pack import opened_files, pack
from xlate.models.pack_format import MARK, Pack, read_pack, write_archive
from xlate.models.run_files import RUNS

BOTH = ["model.context.run=translations", "model.context.distortion=distances"]
SYSTEMS = ["run", "jumps_run", "sparse_run", "rules_run", "lcs_run"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_packed_run_translates_alone(
    system: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    remarked: Said,
) -> None:
    packed: Path = request.getfixturevalue(system)
    expected = translated(packed, tmp_path, "trace=true")
    assert f"unpacked, it is the folder {packed.resolve().name}\n" in remarked(
        "pack", f"run={packed}", f"out={tmp_path / 'run.tar'}"
    )
    with tarfile.open(tmp_path / "run.tar") as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    # No text, no links, no candidates, nothing that was only measured.
    parts = ("train.", "dev.", "test.", "links", "candidates", "matches", "metrics", "events", "summary", "checkpoint")
    assert not [name for name in names if any(part in name for part in parts)]
    assert names[0] == MARK
    with opened_files([packed, Path(config_of_run(packed).work)]) as strays:
        assert translated(tmp_path / "run.tar", tmp_path, "trace=true") == expected
    assert strays == set()


def test_all_runs_that_a_run_names_travel_with_it(
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    distortion_run: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = tmp_path / "old"
    for folder, name in ((work, "work"), (context_run, "translations"), (distortion_run, "distances")):
        shutil.copytree(folder, old / name)
        for file in (old / name).rglob("config.yaml"):
            file.write_text(file.read_text().replace(f"work: {work}", "work: work"))
    monkeypatch.chdir(old)
    trained(Path("work"), Path("tuned"), *PHRASE, "context=feature", *BOTH, "loss=mira", "loss.tune.rounds=1")
    expected = translated(Path("tuned"), tmp_path, "trace=true")
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(RUNS, "distortion")
        # A run that nobody told of is found out before anything has its name.
        with pytest.raises(RuntimeError, match=r"outside itself: .*distances"):
            pack(PackConfig(run="tuned", out="nowhere.tar"))
    assert not (old / "nowhere.tar").exists()
    succeed("pack", "run=tuned", f"out={tmp_path / 'run.tar'}")
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(old)
    # The five stored sentences are translated again as it is opened.
    assert translated(tmp_path / "run.tar", tmp_path, "trace=true") == expected
    (tmp_path / "there").mkdir()
    subprocess.run(["tar", "xf", str(tmp_path / "run.tar"), "-C", str(tmp_path / "there")], check=True)
    assert len(read_pack(tmp_path / "there" / "tuned").sentences) == 5
    assert translated(tmp_path / "there" / "tuned", tmp_path, "trace=true") == expected


def test_a_folder_in_place_of_an_archive(
    run: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    (tmp_path / "in").write_text("Nirka no holdo va bolko ast.\nGonban va fuspan ri pikum nu.\n")
    given = [f"run={run}", f"input={tmp_path / 'in'}"]
    succeed("pack", *given, f"out={tmp_path / 'folder'}")
    assert [s.source for s in read_pack(tmp_path / "folder").sentences] == (tmp_path / "in").read_text().splitlines()
    # What is packed can be packed again, and is the same then.
    succeed("pack", f"run={tmp_path / 'folder'}", f"out={tmp_path / 'again'}")
    assert read_pack(tmp_path / "again") == read_pack(tmp_path / "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "folder", "in"]
    (tmp_path / "in").write_text("nirka " * 1000 + "\n")
    assert "seen:     lines of 1000 words or more; the decoder translates 400 at a time" in refused(
        "pack", *given, f"out={tmp_path / 'long'}"
    )
    assert not (tmp_path / "long").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("pack run={work} out={new}", "not a run directory"),
        ("pack run={run} out={run}", "out="),
        ("pack run={run} out={run}/config.yaml", "config.yaml"),
        ("pack run={run} out={work}", "something other than a packed run"),
        ("pack run={run} out={new} input=/dev/null", "no sentences to check"),
        ("pack run={run} out={new} work=nowhere", "nowhere"),
    ],
)
def test_what_cannot_be_packed_is_refused(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    tmp_path: Path,
    given: str,
    message: str,
    refused: Said,
) -> None:
    assert message in refused(*given.format(work=work, run=run, new=tmp_path / "new").split())
    assert not (tmp_path / "new").exists()


def test_another_score_than_where_it_was_packed_is_an_error(
    run: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    succeed("pack", f"run={run}", f"out={tmp_path / 'folder'}")
    pack = read_pack(tmp_path / "folder")
    sentences = [*pack.sentences]
    sentences[2] = replace(sentences[2], score=0.125)
    other = Pack(pack.xlate, sentences, pack.files)
    (tmp_path / "folder" / MARK).write_bytes(other.to_bytes())
    write_archive(tmp_path / "folder", other, "run", tmp_path / "run.tar")
    for packed in ("folder", "run.tar"):
        said = refused("translate", f"run={tmp_path / packed}", "decoder.beam=7", "input=/dev/null")
        assert f"sentence 3 of 5 was translated differently when the run was packed: {sentences[2].source}" in said
        assert pack.sentences[2].output in said
        assert "0.125" in said
