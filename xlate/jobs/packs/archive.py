"""A packed run as one file, a tar archive whose bytes depend on nothing but its content."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from xlate.errors import InputError
from xlate.jobs.packs.form import EXPECTED, MARK, REMEDY, Pack, check_files, is_pack, read_pack
from xlate.text.lines import atomic_write, naming_file

ENDING = ".tar"
# More than the names and checksums of any run take.
LARGEST_MARK = 1 << 26
_unpacked: dict[Path, Path] = {}


def write_archive(folder: Path, pack: Pack, top: str, out: Path) -> None:
    """Writes the folder of a packed run into an archive, whole or not at all; `top` is the folder's name in it.

    Names are in order behind `pack.json`; owners, rights and times of files are always the same.
    """
    with atomic_write(out) as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in (MARK, *sorted(pack.files)):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mode = (folder / name).stat().st_size, 0o644
            with (folder / name).open("rb") as content:
                archive.addfile(member, content)


def unpacked(run: Path) -> Path:
    """The folder of a run; an archive is unpacked into a temporary folder, which is removed at the process's end.

    A folder that an archive was unpacked into, `tar -C FOLDER`, stands for the packed run inside. The checksums of a
    packed run that is a folder are looked at once in a process.

    Raises:
        InputError: a file that is no packed run, is damaged or cut off, or holds more than it says; a folder of a
            packed run with missing or damaged files.
    """
    if not run.is_file():
        folder = _only_pack(run) or run
        if is_pack(folder):
            _check_folder(folder.resolve())
        return folder
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

    Nothing is written but the files that the archive's own `pack.json` names, each with its checksum.

    Raises:
        InputError: as `unpacked`.
    """
    try:
        with tarfile.open(archive, "r:") as opened:
            return _extracted(opened, archive, folder)
    except (tarfile.TarError, EOFError) as error:
        message = "not a packed run, or a damaged or cut off one"
        raise InputError(message, file=archive, seen=error, expected=EXPECTED, remedy=REMEDY) from error


@cache
def _check_folder(folder: Path) -> None:
    check_files(folder, read_pack(folder))


def _only_pack(folder: Path) -> Path | None:
    """The packed run in a folder that has no other folder in it; None for a run itself, and for all else."""
    if is_pack(folder) or not folder.is_dir():
        return None
    within = [path for path in folder.iterdir() if path.is_dir()]
    return within[0] if len(within) == 1 and is_pack(within[0]) else None


def _extracted(opened: tarfile.TarFile, archive: Path, folder: Path) -> Path:
    top, pack = _pack_of(opened, archive)
    (folder / top).mkdir()
    (folder / top / MARK).write_bytes(pack.to_bytes())
    missing = dict(pack.files)
    while (member := opened.next()) is not None:
        name = member.name.removeprefix(f"{top}/")
        if not member.isreg() or name not in missing or f"{top}/{name}" != member.name:
            raise _damaged(archive, f"a member {member.name!r}", "the files that its pack.json names, each once")
        size, sha256 = missing.pop(name)
        if member.size != size:
            raise _damaged(archive, f"{name}: {member.size} bytes", f"{size} bytes")
        # Written by name and content alone: no rights, owners or links of an archive are taken over.
        if (seen := _written(opened, member, folder / top / name)) != sha256:
            raise _damaged(archive, f"{name}: SHA-256 {seen}", f"SHA-256 {sha256}")
    if missing:
        raise _damaged(archive, f"no {min(missing)}, and {len(missing) - 1} more are missing", "all its files")
    return folder / top


def _written(opened: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> str:
    """Writes the content of a member into a file and returns its SHA-256."""
    content, digest = opened.extractfile(member), hashlib.sha256()
    assert content is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming_file(path), path.open("xb") as stream:
        while block := content.read(1 << 20):
            digest.update(block)
            stream.write(block)
    return digest.hexdigest()


def _pack_of(opened: tarfile.TarFile, archive: Path) -> tuple[str, Pack]:
    """The name of the folder in an archive, and what the packed run says of itself, which comes first."""
    first = opened.next()
    if first is None:
        raise _damaged(archive, "nothing", EXPECTED)
    top, _, name = first.name.partition("/")
    stream = opened.extractfile(first) if first.isreg() and first.size <= LARGEST_MARK else None
    if name != MARK or top in ("", ".", "..") or stream is None:
        seen = f"{first.name!r} at the beginning"
        raise InputError("not a packed run", file=archive, seen=seen, expected=EXPECTED, remedy=REMEDY)
    return top, Pack.from_bytes(stream.read(), archive)


def _damaged(archive: Path, seen: str, expected: str) -> InputError:
    return InputError("a damaged packed run", file=archive, seen=seen, expected=expected, remedy=REMEDY)


def _remove(folder: Path, process: int) -> None:
    # Processes that this one forks leave it alone.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
