"""Folders of arrays as an attacker would leave them: other values under checksums that fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from xlate.arrays.stored import HEADER, ArrayStream, seal, write_header
from xlate.text.folders import write_json


def forged(folder: Path, name: str, array: np.ndarray) -> None:
    """Puts another array in the place of one, or beside the others, and makes the checksums anew."""
    header = json.loads((folder / HEADER).read_text())
    with (folder / f"{name}.npy").open("wb") as stream:
        written = ArrayStream(stream, array.dtype, array.shape[1:])
        written.append(array)
        header["arrays"][name] = written.finish()
    write_header(folder, header["kind"], header["arrays"], header["metadata"], list(header["files"]))


def edited_header(folder: Path, **changes: object) -> None:
    """Changes fields of a header under a checksum that fits."""
    body = {**json.loads((folder / HEADER).read_text()), **changes}
    del body["sha256"]
    write_json(folder / HEADER, {**body, "sha256": seal(body)})
