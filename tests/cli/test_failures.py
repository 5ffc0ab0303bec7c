"""Whatever the operating system refuses is one clear message and exit status 2, and leaves nothing."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.refusing import UNABLE
from tests.commands import Said, succeed
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.cli.streams import WORDS, in_words
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.models.pack_format import read_pack
from xlate.report.run_directory import Records, RunDirectory
from xlate.scoring.weights import load_weights
from xlate.text.lines import atomic_write
from xlate.text.tokens import Truecaser
from xlate.text.vocabulary import Vocabulary
from xlate.work.stages import file_hash, read_stage

SAID = {"full": "the disk is full", "read-only": "the file system is read-only", "limit": "exceeds a size limit"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small inputs for every command that writes a file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "text").write_text("".join(f"a b c {n % 7} d é {n}\n" for n in range(60)))
    (folder / "links").write_text("0-0 1-1 2-2\n" * 60)
    (folder / "ref").write_text("a b\nc d\n")
    # Lists long enough to reach the limit even when they are packed.
    words = [f"w{n * n}" for n in range(400)]
    (folder / "list").write_text(f"0 ||| {' '.join(words)} ||| lm= -1 ||| -1\n1 ||| c d ||| lm= -2 ||| -2\n")
    return folder


def commands(files: Path, out: Path) -> list[list[str]]:
    text, nbest, ref = files / "text", files / "list", f"ref=[{files / 'ref'}]"
    return [
        ["score", f"hyp={text}", f"ref=[{text}]", "bootstrap=2", f"out={out / 'score.json'}"],
        ["lm", f"text=[{text}]", "order=2", f"out={out / 'lm.arpa.gz'}"],
        ["phrases", f"source={text}", f"target={text}", f"links={files / 'links'}", f"out={out / 'table.gz'}"],
        ["nbest", "import", str(nbest), ref, f"out={out / 'store'}"],
        ["prepare", f"work={out / 'work'}", "data=demo", "data.generated.train=20"],
    ]


@pytest.mark.parametrize("how", ["full", "read-only", "limit"])
def test_every_command_says_what_it_cannot_write(files: Path, tmp_path: Path, how: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    unshared = [] if how == "limit" else ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if unshared and (shutil.which("unshare") is None or subprocess.run([*unshared, "true"], check=False).returncode):
        pytest.skip("no file system can be mounted here")
    given = json.dumps(commands(files, out))
    program = [*unshared, sys.executable, "-m", "tests.cli.refusing", str(out), how, given]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode == UNABLE:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stderr
    statuses, before, after = json.loads(done.stdout.splitlines()[-1])
    assert statuses == [2] * len(commands(files, out)), done.stderr
    assert done.stderr.count(SAID[how]) == len(statuses), done.stderr
    assert "Traceback" not in done.stderr
    for arguments in commands(files, out):
        named = arguments[-1] if arguments[0] != "prepare" else arguments[1]
        assert named.partition("=")[2] in done.stderr
    assert ".partial" not in done.stderr
    if how != "limit":
        # A folder that was asked for may have been made; no file was.
        assert set(after) - set(before) <= {"work"}
    assert [path for path in out.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("number", [*WORDS, errno.EDOM])
def test_every_refusal_has_file_and_remedy(number: int) -> None:
    words = in_words(OSError(number, os.strerror(number), "out.txt"))
    assert (words.file, words.seen) == ("out.txt", os.strerror(number))
    assert words.remedy
    assert in_words(OSError(number, "x"), "standard output").file == "standard output"


def test_a_full_disk_is_not_the_fault_of_what_is_copied() -> None:
    assert in_words(OSError(errno.ENOSPC, "x", "from", None, "to")).file == "to"
    assert in_words(OSError(errno.ENOENT, "x", "from", None, "to")).file == "from"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A file for each reader of runs and work directories, and a folder of arrays."""
    save_arrays(tmp_path, "kind", {"array": np.zeros(3)})
    for name in READERS:
        (tmp_path / name).touch()
    return tmp_path


def opened_whole(folder: Path) -> object:
    return open_arrays(folder.parent, "kind", {"array": (np.float64, 1)})


READERS: dict[str, Callable[[Path], object]] = {
    "header.json": opened_whole,
    "array.npy": opened_whole,
    "stage.json": lambda path: read_stage(path.parent.parent, path.parent.name),
    "run.json": lambda path: RunDirectory.open(path.parent),
    "config.yaml": lambda path: config_of_run(path.parent),
    "weights.safetensors": load_weights,
    "metrics.jsonl": lambda path: Records(path).read(),
    "pack.json": lambda path: read_pack(path.parent),
    "text": file_hash,
    "vocabulary.source": Vocabulary.load,
    "truecase.source": Truecaser.load,
}


@pytest.mark.parametrize("name", READERS)
def test_too_many_open_files_are_not_the_fault_of_a_file(stored: Path, name: str) -> None:
    """`ulimit -n 20; xlate translate …` does not ask to make the work directory again."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(OSError, match="Too many open files") as caught:
            READERS[name](stored / name)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
    assert caught.value.errno == errno.EMFILE


@pytest.mark.parametrize("name", [name for name in READERS if name != "array.npy"])
def test_a_pipe_in_a_folder_of_ours_is_not_waited_for(stored: Path, name: str) -> None:
    (stored / name).unlink()
    os.mkfifo(stored / name)

    def hangs(*_: object) -> None:
        pytest.fail("it waits for somebody who writes")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(5)
    try:
        with pytest.raises(InputError, match=rf"{name}: can be read only once, but a file is needed"):
            READERS[name](stored / name)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_an_error_without_a_number() -> None:
    words = str(in_words(OSError("100 requested and 7 written"), "a.npy"))
    assert words.startswith("a.npy: not written completely\n  seen:     100 requested and 7 written")


def test_a_folder_in_the_way_and_a_file_as_folder(files: Path, tmp_path: Path, refused: Said) -> None:
    text = files / "text"
    (tmp_path / "file").write_text("mine")
    score = ["score", f"hyp={text}", f"ref=[{text}]", "bootstrap=2"]
    assert f"{tmp_path}: a folder, not a file" in refused(*score, f"out={tmp_path}")
    assert "is a file, not a folder" in refused(*score, f"out={tmp_path / 'file' / 'x'}")
    assert "a work directory needs a folder" in refused("prepare", f"work={tmp_path / 'file'}", "data=demo")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("arguments", [["nbest", "import", "list", "ref=[ref]"], ["export", "run=run"]])
def test_a_nul_in_a_name(files: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, refused: Said) -> None:
    monkeypatch.chdir(files)
    assert "Traceback" not in refused(*arguments, "out='a\0b'")


def test_import_of_a_list_replaces_only_stores(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Said
) -> None:
    """`mkdir mine; echo x > mine/thesis.txt; xlate nbest import … out=mine`: the file stays."""
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("x\n")
    Path("q").mkdir()
    given = ["nbest", "import", str(files / "list"), f"ref=[{files / 'ref'}]"]
    for out, said in (
        ("mine", "something other than a candidate store"),
        ("q/..", "not a usable folder name"),
    ):
        assert said in refused(*given, f"out={out}")
    assert Path("mine/thesis.txt").read_text() == "x\n"
    for _ in range(2):
        succeed(*given, "out=q")
    assert sorted(os.listdir()) == ["mine", "q"]


@pytest.mark.parametrize("name", ["corpus", "generated"])
def test_prepare_replaces_only_stages(tmp_path: Path, refused: Said, name: str) -> None:
    """`xlate prepare … work=PROJECT` leaves the user's own PROJECT/corpus alone, and writes nothing beside it."""
    text = tmp_path / "project" / name / "raw.txt"
    text.parent.mkdir(parents=True)
    text.write_text("the training text\n")
    (text.parent / "stage.json").write_text('{"identity": "mine", "title": "a play"}')
    assert "the folder contains something other than" in refused("prepare", f"work={tmp_path / 'project'}", "data=demo")
    assert text.read_text() == "the training text\n"
    assert sorted(os.listdir(tmp_path / "project")) == [name]


def test_a_worker_s_refusal_comes_whole(tmp_path: Path) -> None:
    """An error of a forked process names the file as its own would."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        failed = pool.submit(_write_too_much, tmp_path / "a.npy").exception()
    assert isinstance(failed, OSError)
    assert str(in_words(failed)).startswith(f"{tmp_path / 'a.npy'}: the file exceeds a size limit")


def _write_too_much(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    with atomic_write(path) as stream:
        np.save(stream, np.zeros(1000))
