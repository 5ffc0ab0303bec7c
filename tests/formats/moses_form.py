"""The form of Moses's phrase and reordering tables, field by field, as Moses writes and reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

# Moses's tables have six digits.
CLOSE = 1e-4


def assert_moses_form(phrases: Iterable[str], reordering: Iterable[str] | None, scores: int) -> int:
    """Checks every field of the lines of a phrase table and of the reordering table of the same phrases.

    Args:
        phrases: `source ||| target ||| scores ||| links ||| counts ||| |||` a line.
        reordering: `source ||| target ||| six scores` a line; None where scores are within the table.
        scores: how many there are of a phrase.

    Returns:
        How many phrases there are.
    """
    before, count = b"", 0
    orientations = None if reordering is None else iter(reordering)
    for line in phrases:
        assert line.endswith(" ||| |||"), line
        source, target, values, links, counts, rest = line.split(" ||| ")
        assert rest == "|||", line
        assert_phrase(source.split(" "), target.split(" "), links)
        assert_scores([float(value) for value in values.split(" ")], [float(value) for value in counts.split(" ")])
        assert len(values.split(" ")) == scores, line
        key = f"{source} |||".encode()
        assert before <= key, f"not in the order of bytes: {line}"
        before, count = key, count + 1
        if orientations is not None:
            assert_reordering(next(orientations), source, target)
    assert orientations is None or next(orientations, None) is None
    return count


def assert_phrase(source: list[str], target: list[str], links: str) -> None:
    """Words without gaps, at most seven, and links between them in the order of the target."""
    assert all(source), source
    assert all(target), target
    assert max(len(source), len(target)) <= 7
    assert re.fullmatch(r"\d+-\d+( \d+-\d+)*", links), links
    pairs = [tuple(map(int, link.split("-"))) for link in links.split(" ")]
    assert all(i < len(source) and j < len(target) for i, j in pairs), links
    assert pairs == sorted(set(pairs), key=lambda pair: pair[::-1]), links


def assert_scores(scores: list[float], counts: list[float]) -> None:
    """Probabilities, of which p(f|e) and p(e|f) are what the counts N(e), N(f) and N(f, e) say."""
    of_target, of_source, of_both = counts
    assert all(0.0 < score <= 1.0 + CLOSE for score in scores), scores
    assert scores[0] == pytest.approx(of_both / of_target, rel=CLOSE)
    assert scores[2] == pytest.approx(of_both / of_source, rel=CLOSE)


def assert_reordering(line: str, source: str, target: str) -> None:
    """The same phrase, with a distribution over three orientations towards each side."""
    own_source, own_target, values = line.split(" ||| ")
    assert (own_source, own_target) == (source, target)
    scores = [float(value) for value in values.split(" ")]
    assert len(scores) == 6, line
    assert all(0.0 < score < 1.0 for score in scores), line
    assert sum(scores[:3]) == pytest.approx(1.0, rel=1e-3)
    assert sum(scores[3:]) == pytest.approx(1.0, rel=1e-3)
