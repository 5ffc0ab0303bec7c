"""Tables of records: Parquet and Arrow files, and the folders in which the package `datasets` keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.folders import read_json

SUFFIXES = (".parquet", ".arrow")
STATE = "state.json"
REMEDY = "write the dataset again with save_to_disk"


def is_table(path: str | Path) -> bool:
    """Whether a name is that of a table, or of a folder, which should hold one."""
    return Path(path).suffix in SUFFIXES or Path(path).is_dir()


def table_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table as dictionaries, some thousand at a time.

    Raises:
        InputError: the package is missing, a folder holds no table, or a file is none.
    """
    for file in _files(Path(path)):
        try:
            arrow, parquet, ipc = (import_module(f"pyarrow{part}") for part in ("", ".parquet", ".ipc"))
        except ModuleNotFoundError as error:
            remedy = 'pip install "xlate[lists]"'
            raise InputError(
                "tables need a package that is not installed", "pyarrow", None, remedy, file=file
            ) from error
        try:
            if file.suffix == ".parquet":
                batches: Any = parquet.ParquetFile(file).iter_batches()
            else:
                try:
                    # A stream, which `datasets` writes, or otherwise a file with an index at its end.
                    batches = ipc.open_stream(arrow.memory_map(str(file)))
                except arrow.ArrowInvalid:
                    indexed = ipc.open_file(arrow.memory_map(str(file)))
                    batches = map(indexed.get_batch, range(indexed.num_record_batches))
            for batch in batches:
                yield from batch.to_pylist()
        except (arrow.ArrowInvalid, OSError) as error:
            raise InputError("cannot be read as a table", str(error), f"a {file.suffix[1:]} file", file=file) from error


def _files(path: Path) -> list[Path]:
    """The files of a table in their order."""
    if not path.is_dir():
        return [path]
    state = path / STATE
    if state.exists():
        listed = read_json(state, "the files of a dataset", REMEDY, {"_data_files": list})["_data_files"]
        names = [one["filename"] for one in listed if isinstance(one, dict) and isinstance(one.get("filename"), str)]
        if len(names) < len(listed):
            raise InputError("damaged", listed, "a filename for each file", REMEDY, file=state)
        return [path / name for name in names]
    found = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not found:
        expected = f"a folder with {STATE}, as save_to_disk writes it, or with .parquet files"
        splits = ", ".join(sorted(file.name for file in path.iterdir() if file.is_dir())) or None
        raise InputError("a folder without a table", splits, expected, "give the folder of one split", file=path)
    return found
