"""Lists of several systems as one list a sentence, with features that say which systems agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.nbest_fields import Layout
from xlate.formats.nbest_list import Hypothesis, one_source

# How many systems have the hypothesis, and how early: the sum of 1/rank.
AGREEMENT, RANKS = "systems", "reciprocal_ranks"
TOTAL = "total"
# The columns of a system: feature and number of values, and the values of each hypothesis by its words.
_Named = dict[tuple[str, int], list[float]]


def merged(
    first: Iterable[Sequence[Hypothesis]],
    others: Mapping[str, Iterable[Sequence[Hypothesis]]],
    files: Mapping[str, str | Path],
) -> Iterator[list[Hypothesis]]:
    """Yields one list a sentence: the hypotheses of the first list, then what only others have; words once each.

    The features of another system have its name and a dot before theirs; its totals become a feature too, and those of
    the first `total`. What a system does not have gets the lowest value of each of its features in the sentence, and
    `NAME.has` is 0. `systems` counts the systems that have a hypothesis, `reciprocal_ranks` adds up 1/rank over
    them (Cormack et al. 2009). Totals are left out: those of different systems cannot be compared. Lines
    are of the first list: what only others have stands where its sentence begins there. `files` are those of the lists,
    by their names; the first one has the name "".

    Raises:
        InputError: a sentence that another list or the first one lacks, or that has two sources.
    """
    rest = {name: {group[0].sentence: group for group in lists} for name, lists in others.items()}
    for group in first:
        sentence = group[0].sentence
        lacking = next((name for name, lists in rest.items() if sentence not in lists), None)
        if lacking is not None:
            raise InputError(
                "a sentence that another list lacks",
                file=files[""],
                line=group[0].line,
                seen=f"sentence {sentence}, which {lacking} lacks",
                expected="lists of the same sentences, with the same numbers",
                remedy="remove its lines here, or add its hypotheses there",
            )
        found = {"": group, **{name: lists.pop(sentence) for name, lists in rest.items()}}
        source = None
        for name, said in found.items():
            source = one_source(said, source, files[name], "the lists before")
        yield _joined(found, source)
    for name, lists in rest.items():
        for left in lists.values():
            raise InputError(
                "a sentence that the first list lacks",
                file=files[name],
                line=left[0].line,
                seen=f"sentence {left[0].sentence}, which {files['']} lacks",
                expected="lists of the same sentences, with the same numbers",
                remedy="remove its lines here, or add its hypotheses to the first list",
            )


def _joined(groups: Mapping[str, Sequence[Hypothesis]], source: str | None) -> list[Hypothesis]:
    texts: dict[str, Hypothesis] = {}
    begin = groups[""][0].line
    for name, group in groups.items():
        for hypothesis in group:
            texts.setdefault(hypothesis.text, hypothesis._replace(line=begin) if name else hypothesis)
    named: dict[str, _Named] = {text: {} for text in texts}
    agreed, ranks = dict.fromkeys(texts, 0.0), dict.fromkeys(texts, 0.0)
    for system, group in groups.items():
        prefix = f"{system}." if system else ""
        rows: dict[str, tuple[int, Hypothesis]] = {}
        for place, hypothesis in enumerate(group):
            rows.setdefault(hypothesis.text, (place, hypothesis))
        values = {text: _columns(hypothesis) for text, (_, hypothesis) in rows.items()}
        lowest = _lowest(list(values.values()))
        for text in texts:
            held = values.get(text, lowest)
            named[text] |= {(prefix + name, count): row for (name, count), row in held.items()}
            named[text][f"{prefix}has", 1] = [float(text in rows)]
            if text in rows:
                agreed[text] += 1.0
                ranks[text] += 1.0 / (1 + rows[text][0])
    made: list[Hypothesis] = []
    for text, hypothesis in texts.items():
        row = {**named[text], (AGREEMENT, 1): [agreed[text]], (RANKS, 1): [ranks[text]]}
        made.append(_hypothesis(hypothesis, row, source))
    return made


def _columns(hypothesis: Hypothesis) -> _Named:
    found: _Named = {}
    at = 0
    for name, count in hypothesis.layout:
        found[name, count] = hypothesis.values[at : at + count]
        at += count
    if hypothesis.total is not None:
        found[TOTAL, 1] = [hypothesis.total]
    return found


def _lowest(rows: Sequence[_Named]) -> _Named:
    """The lowest value of each feature that all rows have; a sparse one is 0 where it is not."""
    shared = [key for key in rows[0] if all(key in row for row in rows)]
    return {key: [min(column) for column in zip(*(row[key] for row in rows), strict=True)] for key in shared}


def _hypothesis(first: Hypothesis, row: _Named, source: str | None) -> Hypothesis:
    layout: Layout = tuple(row)
    values = [value for column in row.values() for value in column]
    written = " ".join(f"{name}= {' '.join(f'{v:.9g}' for v in column)}" for (name, _), column in row.items())
    fields = (str(first.sentence), first.fields[1], written, "")
    return Hypothesis(first.line, first.sentence, first.text, layout, values, None, fields, 2, source)
