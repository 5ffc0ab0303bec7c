"""Planted faults: wrong settings, lists, packs and requests, each refused in words and with nothing left.

A row names the fault, plants it, and says what the message must contain. Every row ends with exit status 2 (or an HTTP
status from 400) and no traceback, and leaves no weights, list or translation behind. The folder of a run that is
refused late may stay, with its configuration alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.made_once import made_once
from tests.test_context_end_to_end import context_run  # noqa: F401
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, phrase_run  # noqa: F401
from xlate.cli.main import main
from xlate.jobs.serve import Application, Limits, ServedRun
from xlate.models.pack_format import MARK

WEIGHTS = "weights.safetensors"

# What stands behind `xlate train model=context`, and a part of the message.
CONTEXT = [
    ("model.predicts=word", "translation, distortion"),
    ("model.words=[most]", "most"),
    ("model.words=[suffix0]", "suffix0"),
    ("model.words=all,3", "3"),
    ("model.factors=[pos]", "pos"),
    ("model.target=[letters]", "letters"),
    ("model.target=[]", "target"),
    ("model.left_out=10", "left_out"),
    ("model.left_out_of=1", "left_out_of"),
    ("model.bit=20", "model.bits"),
    ("model.floats=[direct]", "model.floats"),
    ("loss.rate=nan", "loss.rate"),
    ("loss=mira", "mira"),
    ("loss=xbleu", "base"),
    ("source=online", "online"),
    ("decoder=phrase", "decoder"),
    ("sparse=all", "sparse"),
]
# What stands behind `xlate train model=phrase source=online`.
ONLINE = [
    ("source.k=200 source.nbest=100", "source.k"),
    ("source.metric=rouge", "rouge"),
    ("source.metric='bleu:0'", "bleu"),
    ("source.start=zero", "base"),
    ("source.start=base", "base"),
    ("source.text=none.txt", "none.txt"),
    ("source.references=[none.txt]", "text"),
    ("source.folds=5", "source.folds"),
    ("source.iteration=3", "source.iterations"),
    ("loss=xbleu", "loss"),
    ("base=nowhere", "nowhere"),
]
# Lines beside `{"id": 0, "hyp": "the cat sleeps"}`, and a part of the message of `xlate nbest check`.
GOOD = '{"id": 0, "hyp": "the cat sleeps"}\n'
LISTS = [
    ("", "empty"),
    ("{\n", "JSON"),
    ("{}\n", "id"),
    ('{"id": 0}\n', "hyp"),
    ('{"id": 0, "hyp": null}\n', "hyp"),
    ('{"id": -1, "hyp": "a"}\n', "-1"),
    ('{"id": 1.5, "hyp": "a"}\n', "id"),
    ('{"id": 99999999999999999999, "hyp": "a"}\n', "99999999999999999999"),
    ('{"id": 0, "hyp": "a", "score": "high"}\n', "score"),
    ('{"id": 0, "hyp": "a", "score": NaN}\n', "score"),
    ('{"id": 0, "hyp": "a", "score": 1e999}\n', "score"),
    ('{"id": 0, "hyp": "a", "scores": {"lm": "x"}}\n', "lm"),
    ('{"id": 0, "hyp": "a", "scores": {"lm": 1e300}}\n', "lm"),
    ('{"id": 0, "hyp": "a", "scores": {"l m": 1}}\n', "l m"),
    ('{"id": 0, "hyp": "a", "scores": {"a=b": 1}}\n', "a=b"),
    ('{"id": 0, "hyp": "a", "src": 3}\n', "src"),
    ('{"id": 0, "hyp": "\\ud800"}\n', ""),
    ('{"id": 0, "hyp": "a"} {"id": 1, "hyp": "b"}\n', "Extra data|JSON"),
    ('{"id": 0, "hyp": "a"}\x00\n', "Extra data|JSON"),
    ('{"id": 0, "hyp": ' + "[" * 5000 + "\n", "JSON"),
    (GOOD + "[]\n", "hypotheses"),
    (
        GOOD + '{"id": 0, "hyp": "b", "src": "x"}\n{"id": 0, "hyp": "c", "src": "y"}\n',
        "source|src",
    ),
    (GOOD + '{"id": 7, "hyp": "b"}\n', "7|sentence|references"),
    (b'{"id": 0, "hyp": "\xe9"}\n', "UTF-8"),
]


def sealed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Changes what a pack says of itself, with the checksum that belongs to it."""

    def plant(folder: Path) -> None:
        body = json.loads((folder / MARK).read_text())
        body.pop("sha256")
        change(body)
        text = json.dumps(body, sort_keys=True)
        (folder / MARK).write_text(json.dumps({**body, "sha256": hashlib.sha256(text.encode()).hexdigest()}))

    return plant


def with_file(name: str, change: Callable[[Path], object]) -> Callable[[Path], None]:
    """Changes a file of a pack, and makes the pack say that this is how it should be."""

    def plant(folder: Path) -> None:
        change(folder / name)
        data = (folder / name).read_bytes()
        size = [len(data), hashlib.sha256(data).hexdigest()]
        sealed(lambda body: body["files"].update({name: size}))(folder)

    return plant


def places(**held: object) -> Callable[[Path], None]:
    return with_file("places.json", lambda path: path.write_text(json.dumps(held)))


def mark(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / MARK).write_text(text)


def on(name: str, change: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: change(folder / name)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


# What is done to the folder of a packed run, by a name, and a part of the message of `xlate translate`.
PACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "mark of another program": (mark("{}"), "packed run"),
    "mark is no JSON": (mark("{"), "packed run"),
    "mark without its checksum": (mark('{"format": "xlate-pack-1"}'), "SHA-256"),
    "another format": (
        sealed(lambda body: body.update(format="xlate-pack-9")),
        "packed run",
    ),
    "a changed version": (
        lambda folder: mark((folder / MARK).read_text().replace("0.1.0", "9"))(folder),
        "SHA-256",
    ),
    "a sentence without its score": (
        sealed(lambda body: body["sentences"][0].pop("score")),
        "score|damaged",
    ),
    "a file outside": (
        sealed(lambda body: body["files"].update({"../x": [1, "0"]})),
        "damaged",
    ),
    "a missing file": (
        sealed(lambda body: body["files"].update({"more.npy": [1, "0"]})),
        "more.npy",
    ),
    "weights are cut": (lambda folder: os.truncate(folder / WEIGHTS, 100), WEIGHTS),
    "a bit of the weights": (on(WEIGHTS, flipped), "SHA-256"),
    "the configuration is a folder": (
        on("config.yaml", as_folder),
        "config.yaml",
    ),
    "the weights are a FIFO": (on(WEIGHTS, as_fifo), WEIGHTS),
    "the weights are a link": (on(WEIGHTS, as_link), WEIGHTS),
    "places are missing": (
        on("places.json", Path.unlink),
        "places.json",
    ),
    "places are a list": (
        with_file("places.json", lambda path: path.write_text("[]")),
        "places.json",
    ),
    "the work directory is outside": (
        places(work="../../x/work", words={}),
        "places.json",
    ),
    "no work directory": (places(work="elsewhere", words={}), "elsewhere"),
    "weights of another program": (
        with_file(WEIGHTS, lambda path: path.write_bytes(b"\0" * 64)),
        WEIGHTS,
    ),
    "an unknown key in the configuration": (
        with_file("config.yaml", lambda path: path.write_text("model: {kind: phrases}\n")),
        "phrases|config.yaml",
    ),
    "the configuration is no YAML": (
        with_file("config.yaml", lambda path: path.write_text("{")),
        "config.yaml",
    ),
    "another translation than where it was packed": (
        sealed(lambda body: body["sentences"][0].update(output="Something else.")),
        "Something else",
    ),
}
# Arguments of commands around runs and packs, and a part of the message; {ph} is a run, {pack} a packed one.
COMMANDS = [
    ("pack run=nowhere out={new}", "nowhere"),
    ("pack run={work} out={new}", "run"),
    ("pack run={ph} out={ph}", "out="),
    ("pack run={ph} out={ph}/config.yaml", "config.yaml|folder"),
    ("pack run={ph} out={new} input=none.txt", "none.txt"),
    ("pack run={ph} out={new} input=/dev/null", "no sentences to check"),
    ("pack run={ph} out={work}", "something other than a packed run"),
    ("export run={pack} out={new}", "has no language model in a format of Moses"),
    ("pack run={ph} out={new} work=nowhere", "nowhere"),
    ("pack run={ph}", "out"),
    ("pack out={new}", "run"),
    ("serve run=nowhere port=0", "nowhere"),
    ("serve run={ph} host= port=0", "host"),
    ("serve run={ph} other={ph} port=0", "other"),
    ("serve run={ph} other=nowhere port=0", "nowhere"),
    ("serve run={cx} port=0", "decoder"),
    ("serve run={ph} work=nowhere port=0", "nowhere"),
    ("serve run={ph} port=0 host=no.such.host.invalid", "address"),
    ("serve run={ph} port=0 allow=[http://x]", "allow"),
    ("serve run={ph} port=0 allow=['']", "allow"),
]
# Requests: method, path, headers beside the usual ones, body, the status of the answer.
JSON = '{"text": "Ken"}'
REQUESTS: list[tuple[str, str, dict[str, str], str, int]] = [
    ("GET", "/translate", {}, "", 405),
    ("POST", "/", {}, JSON, 405),
    ("GET", "/translations", {}, "", 404),
    ("POST", "/translate", {}, "", 400),
    ("POST", "/translate", {}, "{", 400),
    ("POST", "/translate", {}, '{"text": "' + "a " * 300 + '"}', 400),
    ("POST", "/translate", {"Host": "evil.example"}, JSON, 403),
    ("POST", "/translate", {"Origin": "http://evil.example"}, JSON, 403),
    ("GET", "/", {"Host": "evil.example:8000"}, "", 403),
    ("GET", "/health", {"Host": ""}, "", 403),
]


@pytest.fixture(scope="module")
def packed(phrase_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    def make(folder: Path) -> None:
        assert main(["pack", f"run={phrase_run}", f"out={folder}"]) == 0

    return made_once(tmp_path_factory, "faulty-pack", make)


def refused(arguments: Sequence[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert re.search(part, said), said
    assert "Traceback" not in said


TRAININGS = [(f"model=context {setting}", part) for setting, part in CONTEXT]
TRAININGS += [(f"model=phrase source=online {setting}", part) for setting, part in ONLINE]


@pytest.mark.parametrize(("settings", "part"), TRAININGS)
def test_of_trainings(
    settings: str,
    part: str,
    work: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(["train", f"work={work}", "run=run", *settings.split(" ")], part, capsys)
    assert not (tmp_path / "run" / WEIGHTS).exists()


@pytest.mark.parametrize(("text", "part"), LISTS)
def test_of_lists(text: str | bytes, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "references").write_text("the cat sleeps\n")
    references = f"ref=[{tmp_path / 'references'}]"
    refused(["nbest", "check", str(tmp_path / "list.jsonl"), references, "nbest_format=jsonl"], part, capsys)


@pytest.mark.parametrize("fault", PACKS)
def test_of_packs(fault: str, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant, part = PACKS[fault]
    shutil.copytree(packed, tmp_path / "pack")
    plant(tmp_path / "pack")
    (tmp_path / "in").write_text("Ken so.\n")
    files = [f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}"]
    refused(["translate", f"run={tmp_path / 'pack'}", *files], part, capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("line", "part"), COMMANDS)
def test_of_packing_and_serving(
    line: str,
    part: str,
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    phrase_run: Path,  # noqa: F811
    packed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"ph": phrase_run, "cx": context_run, "pack": packed, "work": work, "new": tmp_path / "new"}
    refused(line.format(**named).split(" "), part, capsys)
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def application(phrase_run: Path) -> Application:  # noqa: F811
    limits = Limits(1 << 16, 200, 100, 10)
    return Application([ServedRun(str(phrase_run), limits)], limits, "127.0.0.1")


@pytest.mark.parametrize(("method", "path", "headers", "body", "status"), REQUESTS)
def test_of_requests(
    method: str,
    path: str,
    headers: dict[str, str],
    body: str,
    status: int,
    application: Application,
) -> None:
    answers: list[str] = []
    environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_HOST": "127.0.0.1:8000"}
    environ |= {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    environ |= {"wsgi.input": BytesIO(body.encode()), "CONTENT_LENGTH": str(len(body))}
    answer = b"".join(application(environ, lambda line, _: answers.append(line)))
    assert answers[0].startswith(str(status)), answer
    assert set(json.loads(answer)) >= {"error"}
