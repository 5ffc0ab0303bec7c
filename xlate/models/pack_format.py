"""A packed run, as a folder or as one tar archive: its files with their checksums, and sentences to check it with."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from xlate.arrays.stored import seal, values_sha256
from xlate.errors import InputError
from xlate.text.folders import check_fields
from xlate.text.lines import atomic_write, naming_file, write_file
from xlate.text.opening import plain_file

MARK, FORMAT = "pack.json", "xlate-pack-1"
# Rounding may make the scores of a sentence differ between two machines.
TOLERANCE = 1e-4
REMEDY = "copy the packed run again, or pack the run again: xlate pack run=RUN out=FILE.tar"
OUTSIDE, DAMAGED = "a path that leads out of the packed run", "a damaged packed run"
EXPECTED = "what xlate pack writes"


@dataclass(frozen=True)
class Sentence:
    """A line with its translation and score, as they were where the run was packed."""

    source: str
    output: str
    score: float


@dataclass(frozen=True)
class Pack:
    """A packed run.

    Attributes:
        xlate: the version that packed it.
        sentences: to check it with.
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
        text = json.dumps({**body, "sha256": seal(body)}, indent=1, ensure_ascii=False)
        return (text + "\n").encode("utf-8", "surrogateescape")

    @classmethod
    def from_bytes(cls, raw: bytes, file: Path) -> Pack:
        """Reads what `to_bytes` made; messages name `file`.

        Raises:
            InputError: it is something else, or damaged.
        """
        try:
            held = json.loads(raw.decode())
        except (ValueError, RecursionError) as error:
            raise _refused("not a packed run", file, error) from error
        if not isinstance(held, dict) or held.get("format") != FORMAT:
            raise _refused("not a packed run", file, str(held)[:80])
        seen, expected = held.pop("sha256", None), seal(held)
        if seen != expected:
            raise _refused("damaged", file, f"SHA-256 {seen}", expected)
        check_fields(held, {"xlate": str, "sentences": list, "files": dict}, file, REMEDY)
        try:
            sentences = [Sentence(str(s["source"]), str(s["output"]), float(s["score"])) for s in held["sentences"]]
            files = {_checked(name): (int(size), str(sha256)) for name, (size, sha256) in held["files"].items()}
        except (KeyError, TypeError, ValueError) as error:
            raise _refused("damaged", file, error) from error
        return cls(held["xlate"], sentences, files)


def is_pack(folder: Path) -> bool:
    """Whether a folder holds a packed run."""
    return (folder / MARK).is_file()


def read_pack(folder: Path) -> Pack:
    """What a packed run says about itself; checks that all its files are there, but not their contents.

    Raises:
        InputError: it is damaged, or a file is missing or has another size.
    """
    pack = Pack.from_bytes(plain_file(folder / MARK).read_bytes(), folder / MARK)
    for name, (size, _) in pack.files.items():
        path = folder / name
        seen = path.stat().st_size if path.is_file() else None
        if seen != size:
            there = "no such file" if seen is None else f"{seen} bytes"
            raise _refused("not a complete packed run", path, there, f"{size} bytes")
    return pack


def leads_within(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def check_links(folder: Path) -> None:
    """Checks that no link in a packed run leads out of it.

    Raises:
        InputError: one does.
    """
    for path in folder.rglob("*"):
        if path.is_symlink() and not leads_within(path, folder):
            raise _refused(OUTSIDE, path, f"a link to {os.readlink(path)}", "files and folders inside it")


@cache
def _check_folder(folder: Path) -> None:
    """Checks that the files of a packed run are unchanged since it was packed; once per process.

    Raises:
        InputError: one has changed, or a link leads out of the packed run.
    """
    pack = read_pack(folder)
    check_links(folder)
    for name, (_, sha256) in pack.files.items():
        if (seen := values_sha256(folder / name, 0)) != sha256:
            raise _refused(DAMAGED, folder / name, f"SHA-256 {seen}", f"SHA-256 {sha256}")


def write_pack(folder: Path, xlate: str, sentences: Sequence[Sentence]) -> Pack:
    """Completes the folder of a packed run, whose files are already there, and returns what was written."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files = {name: (path.stat().st_size, values_sha256(path, 0)) for name, path in sorted(paths.items())}
    pack = Pack(xlate, sentences, files)
    write_file(folder / MARK, pack.to_bytes())
    return pack


def check_sentences(folder: Path, pack: Pack, translate: Callable[[str], tuple[str, float]]) -> None:
    """Translates the stored sentences with a function that returns translation and score, and compares.

    Raises:
        InputError: a translation differs, or its score by more than 1e-4; the sentence is named.
    """
    for number, sentence in enumerate(pack.sentences, start=1):
        output, score = translate(sentence.source)
        if output == sentence.output and abs(score - sentence.score) <= TOLERANCE:
            continue
        raise InputError(
            f"sentence {number} of {len(pack.sentences)} was translated differently when the run was packed: "
            f"{sentence.source}",
            f"{output} (score {score:.6f})",
            f"{sentence.output} (score {sentence.score:.6f})",
            f"use the version of xlate that packed it, {pack.xlate}; otherwise {REMEDY}",
            file=folder,
        )


def _checked(name: str) -> str:
    """The name, if it is that of a file inside the folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or str(path) != name:
        raise ValueError(f"a file named {name!r}")
    return name


def _refused(message: str, file: Path, seen: object, expected: str = EXPECTED) -> InputError:
    return InputError(message, seen, expected, REMEDY, file=file)


ENDING = ".tar"
# More than the names and checksums of any run need.
LARGEST_MARK = 1 << 26
_unpacked: dict[Path, Path] = {}


def write_archive(folder: Path, pack: Pack, top: str, out: Path) -> None:
    """Writes the folder of a packed run into an archive, all or nothing; `top` is the folder's name in it.

    `pack.json` comes first, then the other names in order; owners, permissions and times of files are always the same.
    """
    with atomic_write(out) as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in (MARK, *sorted(pack.files)):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mode = (folder / name).stat().st_size, 0o644
            with (folder / name).open("rb") as content:
                archive.addfile(member, content)


def unpacked(run: Path) -> Path:
    """The folder of a run; an archive is unpacked into a temporary folder, which is removed when the process ends.

    A folder that an archive was unpacked into, `tar -C FOLDER`, counts as the packed run inside. The checksums of a
    packed run that is a folder are checked once per process.

    Raises:
        InputError: a file that is no packed run, is damaged or truncated, or holds more than it declares; a folder of a
            packed run with missing or damaged files.
    """
    if not run.is_file():
        if not is_pack(run) and run.is_dir():
            within = [path for path in run.iterdir() if path.is_dir()]
            run = within[0] if len(within) == 1 and is_pack(within[0]) else run
        if is_pack(run):
            _check_folder(run.resolve())
        return run
    key = run.resolve()
    if key not in _unpacked:
        folder = Path(tempfile.mkdtemp(prefix="xlate-pack-"))
        atexit.register(_remove, folder, os.getpid())
        try:
            _unpacked[key] = extract(run, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return _unpacked[key]


def extract(archive: Path, folder: Path) -> Path:
    """Unpacks an archive into an empty folder and returns the folder of the run inside.

    Nothing is written except the files that the archive's own `pack.json` names, each with its checksum.

    Raises:
        InputError: as `unpacked`.
    """
    try:
        with tarfile.open(archive, "r:") as opened:
            return _extracted(opened, archive, folder)
    except (tarfile.TarError, EOFError) as error:
        raise _refused("not a packed run, or a damaged one", archive, error) from error


def _extracted(opened: tarfile.TarFile, archive: Path, folder: Path) -> Path:
    first = opened.next()
    if first is None:
        raise _refused(DAMAGED, archive, "nothing")
    top, _, name = first.name.partition("/")
    stream = opened.extractfile(first) if first.isreg() and first.size <= LARGEST_MARK else None
    if name != MARK or top in ("", ".", "..") or stream is None:
        raise _refused("not a packed run", archive, f"{first.name!r} at the beginning")
    pack = Pack.from_bytes(stream.read(), archive)
    (folder / top).mkdir()
    (folder / top / MARK).write_bytes(pack.to_bytes())
    missing = dict(pack.files)
    while (member := opened.next()) is not None:
        name = member.name.removeprefix(f"{top}/")
        content = opened.extractfile(member) if member.isreg() else None
        if content is None or name not in missing or f"{top}/{name}" != member.name:
            raise _refused(
                DAMAGED, archive, f"a member {member.name!r}", "the files that its pack.json names, each once"
            )
        size, sha256 = missing.pop(name)
        if member.size != size:
            raise _refused(DAMAGED, archive, f"{name}: {member.size} bytes", f"{size} bytes")
        # Written by name and content alone: permissions, owners and links of an archive are ignored.
        path = folder / top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with naming_file(path), path.open("xb") as written:
            shutil.copyfileobj(content, written, 1 << 20)
        if (seen := values_sha256(path, 0)) != sha256:
            raise _refused(DAMAGED, archive, f"{name}: SHA-256 {seen}", f"SHA-256 {sha256}")
    if missing:
        raise _refused(DAMAGED, archive, f"no {min(missing)}, and {len(missing) - 1} more are missing", "all its files")
    return folder / top


def _remove(folder: Path, process: int) -> None:
    # Processes forked from this one leave it alone.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
