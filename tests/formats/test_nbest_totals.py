"""Totals are compared with w · f, known or fitted, up to what printing lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.candidates.nbest import NbestArrays, nbest_arrays
from xlate.formats.nbest_check import check_totals, printed_error
from xlate.formats.nbest_list import FeatureParser, by_sentence, iterate_hypotheses, parse_hypothesis

WEIGHTS = {"lm": 0.5, "tm_0": 0.25, "tm_1": -0.125}


def a_list(rng: np.random.Generator, wrong: dict[int, float], constant: float = 0.0) -> NbestArrays:
    """Six lists of twenty, features printed with six digits; the totals of the `wrong` lines are off by so much."""
    lines = []
    for number in range(120):
        lm, first, second = rng.normal(scale=20, size=3)
        total = 0.5 * lm + 0.25 * first - 0.125 * second + constant * (number // 20) + wrong.get(number, 0.0)
        lines.append(f"{number // 20} ||| w ||| lm= {lm:.6g} tm= {first:.6g} {second:.6g} ||| {total:.6g}")
    parser = FeatureParser()
    read = [parse_hypothesis(line, number, parser) for number, line in enumerate(lines)]
    return nbest_arrays(by_sentence(read, "list"))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["fitted", "given"])
@pytest.mark.parametrize("wrong", [{}, {3: 0.01}, {0: -5, 1: 3, 77: 1e6}])
def test_wrong_totals_are_found(
    weights: dict[str, float] | None, wrong: dict[int, float], rng: np.random.Generator
) -> None:
    checked = check_totals(a_list(rng, wrong, constant=-100), weights)
    assert checked is not None
    assert checked.off.tolist() == sorted(wrong)
    assert checked.fitted == (weights is None)
    if weights is not None:
        assert checked.constant == pytest.approx(500, abs=0.01)


def test_other_weights_do_not_fit(rng: np.random.Generator) -> None:
    checked = check_totals(a_list(rng, {}), {**WEIGHTS, "lm": 0.51})
    assert checked is not None
    assert len(checked.off) > 100


def test_nothing_to_compare(rng: np.random.Generator) -> None:
    arrays = a_list(rng, {})
    arrays.total_C[4] = np.nan
    assert check_totals(arrays) is None


def test_printed_error() -> None:
    assert printed_error(np.array([-9.0, 3, 120])).tolist() == [0, 0, 0]
    assert printed_error(np.array([-103.644, 0, 1.68191, 12.3456])) == pytest.approx([5e-4, 5e-6, 5e-6, 5e-5])
    # Three decimals, however large.
    assert printed_error(np.array([-9.702, -1172.001, 0.5])) == pytest.approx([5e-4] * 3)


def test_the_lists_of_moses(shared_data: Path) -> None:
    path = shared_data / "nbest" / "moses-mert-scorer.nbest.gz"
    checked = check_totals(nbest_arrays(by_sentence(iterate_hypotheses(path), path)))
    assert checked is not None
    assert len(checked.off) == 0
