"""What a packed run says of itself, `pack.json`: its files with their checksums, and sentences to check it by."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from xlate.errors import InputError
from xlate.text.json_files import check_fields
from xlate.text.lines import atomic_write
from xlate.text.opening import plain_file

MARK, FORMAT = "pack.json", "xlate-pack-1"
# Scores of one sentence on two machines may differ by rounding.
TOLERANCE = 1e-4
REMEDY = "copy the packed run again, or pack the run again: xlate pack run=RUN out=FILE.tar"
OUTSIDE = "a path that leads out of the packed run"
EXPECTED = "what xlate pack writes"


@dataclass(frozen=True)
class Sentence:
    """A line with its translation and the score of that, as they were where the run was packed."""

    source: str
    output: str
    score: float


@dataclass(frozen=True)
class Pack:
    """A packed run.

    Attributes:
        xlate: the version that packed it.
        sentences: to check it by.
        files: size and SHA-256 of each file, by its name in the folder of the pack.
    """

    xlate: str
    sentences: Sequence[Sentence]
    files: Mapping[str, tuple[int, str]]

    def to_bytes(self) -> bytes:
        """The text of `pack.json`; equal packs have equal bytes."""
        body = {
            "format": FORMAT,
            "xlate": self.xlate,
            "sentences": [asdict(sentence) for sentence in self.sentences],
            "files": {name: list(self.files[name]) for name in sorted(self.files)},
        }
        text = json.dumps({**body, "sha256": _seal(body)}, indent=1, ensure_ascii=False)
        return (text + "\n").encode("utf-8", "surrogateescape")

    @classmethod
    def from_bytes(cls, raw: bytes, file: Path) -> Pack:
        """Reads what `to_bytes` made; `file` is what messages name.

        Raises:
            InputError: it is something else, or damaged.
        """
        try:
            held = json.loads(raw.decode("utf-8"))
            known = isinstance(held, dict) and held.get("format") == FORMAT
        except (ValueError, RecursionError) as error:
            raise _foreign(file, str(error)) from error
        if not known:
            raise _foreign(file, str(held)[:80])
        seal = held.pop("sha256", None)
        if seal != _seal(held):
            raise InputError("damaged", file=file, seen=f"SHA-256 {seal}", expected=_seal(held), remedy=REMEDY)
        check_fields(held, {"xlate": str, "sentences": list, "files": dict}, file, REMEDY)
        try:
            sentences = [Sentence(str(s["source"]), str(s["output"]), float(s["score"])) for s in held["sentences"]]
            files = {_checked(name): (int(size), str(sha256)) for name, (size, sha256) in held["files"].items()}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("damaged", file=file, seen=error, expected=EXPECTED, remedy=REMEDY) from error
        return cls(held["xlate"], sentences, files)


def is_pack(folder: Path) -> bool:
    """Whether a folder is that of a packed run."""
    return (folder / MARK).is_file()


def read_pack(folder: Path) -> Pack:
    """What a packed run says of itself; that all its files are there is checked, not what they hold.

    Raises:
        InputError: it is damaged, or a file is missing or of another size.
    """
    pack = Pack.from_bytes(plain_file(folder / MARK).read_bytes(), folder / MARK)
    for name, (size, _) in pack.files.items():
        path = folder / name
        seen = path.stat().st_size if path.is_file() else None
        if seen != size:
            there = "no such file" if seen is None else f"{seen} bytes"
            expected = f"{size} bytes"
            raise InputError("not the whole packed run", file=path, seen=there, expected=expected, remedy=REMEDY)
    return pack


def leads_within(path: Path, folder: Path) -> bool:
    """Whether a path leads to something in a folder, links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def check_links(folder: Path) -> None:
    """Checks that no link in a packed run leads out of it.

    Raises:
        InputError: one does.
    """
    for path in folder.rglob("*"):
        if path.is_symlink() and not leads_within(path, folder):
            seen, expected = f"a link to {os.readlink(path)}", "files and folders of its own"
            raise InputError(OUTSIDE, file=path, seen=seen, expected=expected, remedy=REMEDY)


def check_files(folder: Path, pack: Pack) -> None:
    """Looks whether the files of a packed run hold what they held when it was packed.

    Raises:
        InputError: one does not, or a link leads out of the packed run.
    """
    check_links(folder)
    for name, (_, sha256) in pack.files.items():
        _, seen = _described(folder / name)
        if seen != sha256:
            seen, expected = f"SHA-256 {seen}", f"SHA-256 {sha256}"
            raise InputError("a damaged packed run", file=folder / name, seen=seen, expected=expected, remedy=REMEDY)


def write_pack(folder: Path, xlate: str, sentences: Sequence[Sentence]) -> Pack:
    """Completes the folder of a packed run, whose files are there, and returns what was written."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    pack = Pack(xlate, sentences, {name: _described(folder / name) for name in names})
    with atomic_write(folder / MARK) as stream:
        stream.write(pack.to_bytes())
    return pack


def check_sentences(folder: Path, pack: Pack, translate: Callable[[str], tuple[str, float]]) -> None:
    """Translates the stored sentences, by a function that gives translation and score, and compares.

    Raises:
        InputError: a translation is another one, or its score differs by more than 1e-4; the sentence is named.
    """
    for number, sentence in enumerate(pack.sentences, start=1):
        output, score = translate(sentence.source)
        if output == sentence.output and abs(score - sentence.score) <= TOLERANCE:
            continue
        raise InputError(
            f"sentence {number} of {len(pack.sentences)} is not translated as it was where the run was packed: "
            f"{sentence.source}",
            file=folder,
            seen=f"{output} (score {score:.6f})",
            expected=f"{sentence.output} (score {sentence.score:.6f})",
            remedy=f"use the version of xlate that packed it, {pack.xlate}; or else {REMEDY}",
        )


def _described(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()


def _seal(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8")).hexdigest()


def _checked(name: str) -> str:
    """The name, if it is that of a file inside the folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or str(path) != name:
        raise ValueError(f"a file named {name!r}")
    return name


def _foreign(file: Path, seen: str) -> InputError:
    return InputError("not a packed run", file=file, seen=seen, expected=EXPECTED, remedy=REMEDY)
