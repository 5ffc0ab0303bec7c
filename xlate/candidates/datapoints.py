"""The datapoint text of Tillmann & Zhang (2007), Figure 3: one candidate per line; a line `0` ends a datapoint.

    label n_float v_1 … n_bin k_1 …

The label is 1 for a true successor and -1 for an alternative. The values of the dense features follow their number,
the ids of the sparse features follow theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import refuse_if
from xlate.text.lines import LONGEST_RECORD, FileLines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_int

LABELS = {"1": 1.0, "+1": 1.0, "-1": -1.0}
FORM = "label n_float v_1 … n_bin k_1 …, or 0"


def read_datapoints(path: str | Path) -> CandidateBatch:
    """Reads a datapoint file into one batch without shared parts; gains are the labels.

    Raises:
        InputError: a line is malformed, the number of floats changes, or the file ends within a datapoint.
    """
    sizes: list[int] = []
    labels: list[float] = []
    floats: list[list[float]] = []
    ids: list[list[int]] = []
    opened = 0
    lines = FileLines(path, "write the file again", LONGEST_RECORD)
    for line in lines:
        fields = line.split()
        if not fields:
            continue
        if fields == ["0"]:
            # Figure 3 ends with two such lines, so empty datapoints are skipped.
            if opened:
                sizes.append(opened)
            opened = 0
            continue
        label, values, keys = _parse(lines, line, fields)
        if floats and len(values) != len(floats[0]):
            raise lines.error("the number of floats changes", line, f"{len(floats[0])} floats")
        labels.append(label)
        floats.append(values)
        ids.append(keys)
        opened += 1
    if opened:
        raise lines.error("the file ends within a datapoint", "end of file", "a line 0")
    return CandidateBatch(
        candidate_offsets_I1=offsets_of(sizes),
        dense_CD=np.array(floats, np.float32).reshape(len(floats), len(floats[0]) if floats else 0),
        gain_CG=np.array(labels, np.float32)[:, None],
        part_id_offsets_P1=offsets_of([len(keys) for keys in ids]),
        part_ids_N=np.array([k for keys in ids for k in keys], np.int32),
    ).validate()


def write_datapoints(path: str | Path, batches: Iterable[CandidateBatch]) -> None:
    """Writes batches, one after the other, as datapoint text; dense features with all their digits.

    Raises:
        InputError: the format cannot hold a batch, because a sparse feature has a value other than 1, there is a fixed
            score, or a gain is neither 1 nor -1. Nothing is written then.
    """
    write_lines(path, (line for batch in batches for line in _lines(path, batch)))


def _lines(path: str | Path, batch: CandidateBatch) -> Iterator[str]:
    other_gains = batch.gain_CG.shape[1] != 1 or not (np.abs(batch.gain_CG) == 1).all()
    for unfit, seen, expected in (
        (batch.part_values_N is not None, "sparse features with values", "sparse features that are present or absent"),
        (batch.base_C is not None, "fixed scores", "candidates without fixed scores"),
        (other_gains, "other gains", "one gain per candidate, 1 or -1"),
    ):
        refuse_if(unfit, "candidates that datapoint text cannot hold", seen, expected, file=path)
    ids, offsets, _ = batch.flat_ids()
    for i in range(len(batch)):
        for c in range(int(batch.candidate_offsets_I1[i]), int(batch.candidate_offsets_I1[i + 1])):
            keys = ids[offsets[c] : offsets[c + 1]].tolist()
            values = [str(value) for value in batch.dense_CD[c]]
            label = "1" if batch.gain_CG[c, 0] > 0 else "-1"
            yield " ".join([label, str(len(values)), *values, str(len(keys)), *map(str, keys)])
        yield "0"


def _parse(lines: FileLines, line: str, fields: list[str]) -> tuple[float, list[float], list[int]]:
    try:
        label, n_float = LABELS[fields[0]], parse_int(fields[1])
        n_bin = parse_int(fields[2 + n_float])
    except (ValueError, KeyError, IndexError) as error:
        raise lines.error("a malformed datapoint line", line, FORM) from error
    if len(fields) != 3 + n_float + n_bin:
        raise lines.error("a malformed datapoint line", line, FORM)
    try:
        values = [parse_float(v, LARGEST_FLOAT32) for v in fields[2 : 2 + n_float]]
        keys = [parse_int(k) for k in fields[3 + n_float :]]
    except ValueError as error:
        raise lines.error(str(error), line, "finite 32-bit floats, ids from 0 to 2147483647") from error
    return label, values, keys
