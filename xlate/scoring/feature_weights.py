"""Weights by feature name, from Moses or from a run, and n-best lists under them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from xlate.array_types import Floats
from xlate.candidates.nbest import NbestArrays
from xlate.errors import InputError, refuse_if
from xlate.formats.nbest_list import Hypothesis
from xlate.scoring.weights import WEIGHTS_FILE, load_weights
from xlate.text.lines import FileLines, write_lines
from xlate.text.numbers import parse_row

# Columns of our own lists that are already weighted.
SUMMED = {"bigrams": 1.0, "partition": 1.0}
WEIGHT = "name= w w …, name w or name TAB w"
_WITH_TAB = re.compile(r"([^\t]+)\t([^\t ]+)")
_LINE = re.compile(r"([^ \t]*[^ \t=])=?((?: +\S+)+) *")


def load_feature_weights(path: str | Path) -> dict[str, float]:
    """The weights of a file by column name: that of the feature, followed by `_0`, `_1` … if it has several values.

    It reads

    - a Moses configuration: its `[weight]` section, and the sparse file that its `[weight-file]` names, which is
      searched for next to it;
    - lines `name= w w` or `name w`, as the tuners of Moses and cdec write them;
    - lines `name TAB w`, whose names may contain blanks, as `write_feature_weights` writes them;
    - a weights file in safetensors, or the folder of a run with one.

    If a safetensors file holds several sets, as that of a block model does, the names of its features begin with the
    name of the set and `_`; `bigrams` and `partition`, which our own lists hold already weighted, then weigh 1.

    Raises:
        InputError: the file cannot be read, holds no weight, or with the line, one that is ill-formed or repeated.
    """
    path = Path(path)
    if path.is_dir():
        path = path / WEIGHTS_FILE
    weights: dict[str, float] = {}
    if path.suffix == ".safetensors":
        file = load_weights(path)
        several = len(file.sets) > 1
        weights |= SUMMED if several else {}
        for name, values in file.sets.items():
            start = f"{name}_" if several else ""
            weights.update((start + dense, weight) for dense, weight in values.floats.items())
            weights.update((start + feature, weight) for *_, feature, weight in file.learned(name))
    else:
        for lines, line in _weight_lines(path, ()):
            found = _WITH_TAB.fullmatch(line) or _LINE.fullmatch(line)
            row = parse_row(found[2]) if found else None
            if found is None or not row:
                raise lines.error("not a weight", line, WEIGHT)
            names = [found[1]] if len(row) == 1 else [f"{found[1]}_{place}" for place in range(len(row))]
            if not weights.keys().isdisjoint(names):
                raise lines.error("a weight appears twice", line, WEIGHT)
            weights.update(zip(names, row, strict=True))
    expected = "a Moses configuration, lines of name and weight, or a safetensors file"
    refuse_if(not weights, "no weights", None, expected, file=path)
    return weights


def write_feature_weights(path: str | Path, weights: Mapping[str, float]) -> None:
    """Writes lines of name, TAB and weight, with all digits; `load_feature_weights` reads them.

    Raises:
        InputError: a name that could not be read back, because it looks like a comment or a section, or has a blank at
            its end.
    """
    strange = next((n for n in weights if not n or n[0] in "#[" or n != n.strip(" \r") or "\n" in n or "\t" in n), None)
    if strange is not None:
        raise InputError(
            "a feature name that a text file of weights cannot hold",
            repr(strange),
            "a name without tabs, line ends or surrounding spaces that does not begin with # or [",
            file=path,
        )
    write_lines(path, (f"{name}\t{weight!r}" for name, weight in weights.items()))


def _is_value(name: str, feature: str) -> bool:
    """Whether a column is one of a feature's several values: `LM_0` of `LM`."""
    start, _, place = name.rpartition("_")
    return start == feature and place.isdigit()


def unweighted(arrays: NbestArrays, weights: Mapping[str, float]) -> list[str]:
    """The columns of lists that have no weight.

    Raises:
        InputError: none has one, or of a feature's several values some have a weight and others have none.
    """
    missing = [name for name in arrays.names if name not in weights]
    refuse_if(
        len(missing) == len(arrays.names),
        "no feature of the list has a weight",
        ", ".join(arrays.names[:10]),
        "one of " + ", ".join(list(weights)[:10]),
        "give the weights of the model that made the list",
    )
    features = {arrays.names[column].rpartition("_")[0] for column in arrays.several}
    for feature in sorted(features):
        listed = {name for name in arrays.names if _is_value(name, feature)}
        known = {name for name in weights if _is_value(name, feature)}
        if known and known != listed:
            expected = f"{len(listed)}, one per value"
            raise InputError(f"the weights of {feature} do not match the list", f"{len(known)} weights", expected)
    return missing


def _weight_lines(path: Path, through: tuple[Path, ...]) -> Iterator[tuple[FileLines, str]]:
    """Lines that hold weights: all of a plain file, those of `[weight]` of a configuration and of its weight file.

    Each comes with those of its file; `through` are the files that led here.

    Raises:
        InputError: a weight file that includes itself.
    """
    section, through = None, (*through, path.resolve())
    lines = FileLines(path, "correct or remove the line")
    for line in lines.settings():
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section in (None, "weight"):
            yield lines, line
        elif section == "weight-file":
            named = path.parent / line
            if "\0" in line:
                raise lines.error("not a possible file name", line, WEIGHT)
            if named.resolve() in through:
                raise lines.error(
                    "a weight file that includes itself",
                    line,
                    "a file of lines of name and weight",
                    "name the file with the sparse weights under [weight-file]",
                )
            yield from _weight_lines(named, through)


def rescored(lists: Iterable[list[Hypothesis]], score_C: Floats) -> Iterator[list[Hypothesis]]:
    """Yields lists with new totals, best first; ties keep their order.

    Args:
        lists: the hypotheses of one sentence after the other, C in all.
        score_C: their new totals, for example `NbestArrays.scores(weights)`.

    Raises:
        ValueError: not as many scores as hypotheses.
    """
    start = 0
    for hypotheses in lists:
        score_H = score_C[start : start + len(hypotheses)]
        if len(score_H) != len(hypotheses):
            raise ValueError(f"{len(score_C)} scores for {start + len(hypotheses)} hypotheses or more")
        totals = score_H.tolist()
        yield [hypotheses[at].with_total(totals[at]) for at in np.argsort(-score_H, kind="stable").tolist()]
        start += len(hypotheses)
    if start != len(score_C):
        raise ValueError(f"{len(score_C)} scores for {start} hypotheses")
