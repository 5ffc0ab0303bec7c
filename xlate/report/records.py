"""What was measured during a run: a file with one JSON object on each line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.lines import atomic_write, naming_file
from xlate.text.opening import plain_file


class Records:
    """A file of JSON lines that grows line by line and can still be read after it was cut off anywhere.

    A scalar is `{"tag": "train/loss", "value": 0.5, "step": 100}`; a value that is not finite is written as null. Any
    object without the key `tag` is an event, whose form the writer chooses.
    """

    def __init__(self, path: str | Path) -> None:
        """The file is not read or made before it is needed."""
        self.path = Path(path)

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds one line and hands it over to the operating system.

        Raises:
            ValueError: the record has a number that JSON cannot hold, or a tag and is not a scalar: it could not be
                read again.
        """
        if "tag" in record and not _is_scalar(record):
            raise ValueError(f"a record with a tag is a scalar, which has a step and a number or null; seen: {record}")
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        with naming_file(self.path), self.path.open("ab") as stream:
            stream.write(line.encode("utf-8"))

    def append_scalar(self, tag: str, value: float, step: int) -> None:
        """Adds one number."""
        self.append({"tag": tag, "value": value if math.isfinite(value) else None, "step": step})

    def read(self) -> list[dict[str, Any]]:
        """All complete lines; a last line without its end, such as a kill leaves, is skipped.

        Raises:
            InputError: any other line is damaged.
        """
        if not self.path.exists():
            return []
        *lines, _ = plain_file(self.path).read_bytes().split(b"\n")
        return [self._parsed(number, line) for number, line in enumerate(lines, start=1)]

    def repair(self) -> None:
        """Removes a last line that has no end."""
        if not self.path.exists():
            return
        held = plain_file(self.path).read_bytes()
        whole = held.rfind(b"\n") + 1
        if whole < len(held):
            with self.path.open("r+b") as stream:
                stream.truncate(whole)

    def keep(self, wanted: Callable[[int, Mapping[str, Any]], bool]) -> None:
        """Keeps only the records for which `wanted(number, record)` is true; the file is replaced as a whole."""
        records = self.read()
        kept = [record for number, record in enumerate(records) if wanted(number, record)]
        if len(kept) < len(records):
            with atomic_write(self.path) as stream:
                for record in kept:
                    stream.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")

    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The pairs (step, value) of each tag in the order of steps; of several values for a step the last counts."""
        held: dict[str, dict[int, float]] = {}
        for record in self.read():
            if "tag" in record:
                value = record["value"]
                held.setdefault(record["tag"], {})[record["step"]] = math.nan if value is None else float(value)
        return {tag: sorted(points.items()) for tag, points in held.items()}

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                "a damaged record",
                file=self.path,
                line=number,
                seen=line[:100],
                expected="one JSON object",
                remedy="remove the line",
            ) from error
        if not isinstance(record, dict):
            raise InputError("a damaged record", file=self.path, line=number, seen=record, expected="one JSON object")
        if "tag" in record and not _is_scalar(record):
            expected = "a tag, a step, and a number or null"
            raise InputError("a damaged record", file=self.path, line=number, seen=record, expected=expected)
        return record


def _is_scalar(record: Mapping[str, Any]) -> bool:
    tag, value, step = record["tag"], record.get("value", False), record.get("step")
    whole = isinstance(step, int) and not isinstance(step, bool)
    number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return isinstance(tag, str) and whole and number
