"""What is checked of the settings of searches, and for each of them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from xlate.errors import InputError
from xlate.search.settings import BlockSearch, DistortionSearch, LcsSearch, PhraseSearch, RuleSearch, log_share


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (BlockSearch, {"beam": 0, "nbest": 0, "max_words": 0, "threshold": 1.0, "mode": "jump", "partition": "global"}),
        (DistortionSearch, {"window": 49, "max_skips": -1, "coverage_beam": 0, "option_order": "luck"}),
        (PhraseSearch, {"algorithm": "cky", "stack": 0, "distortion_limit": -2, "early_threshold": -0.1}),
        (RuleSearch, {"algorithm": "heap", "pop_limit": 0, "max_span": 0, "threshold": math.nan}),
        (LcsSearch, {"window": 0, "least_probability": 1.5, "options": 0}),
    ],
)
def test_every_search_checks_its_settings(kind: Any, wrong: dict[str, Any]) -> None:
    assert kind(threshold=0.0).log_threshold == -math.inf
    assert kind(threshold=0.5).log_threshold == pytest.approx(math.log(0.5))
    for name, value in wrong.items():
        with pytest.raises(InputError, match=name):
            kind(**{name: value})


def test_the_log_of_nothing() -> None:
    assert [log_share(0.0), log_share(1.0)] == [-math.inf, 0.0]
