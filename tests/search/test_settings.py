"""Shares as natural logs in the settings of searches."""

from __future__ import annotations

import math

import pytest

from xlate.search.settings import LcsSearch, PhraseSearch


def test_thresholds_are_logs_of_shares() -> None:
    assert PhraseSearch(threshold=0.0).log_threshold == -math.inf
    search = PhraseSearch(threshold=0.5, early_threshold=0.25)
    assert [search.log_threshold, search.log_early_threshold] == pytest.approx([math.log(0.5), math.log(0.25)])
    assert LcsSearch(least_probability=1.0).least_log == 0.0
