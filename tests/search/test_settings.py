"""What is checked of the settings of searches, and for each of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from xlate.errors import InputError
from xlate.models.block.settings import BlockSearch
from xlate.models.distortion.settings import DistortionSearch
from xlate.models.hierarchical.settings import RuleSearch
from xlate.models.lcs.settings import LcsSearch
from xlate.models.phrase.settings import PhraseSearch
from xlate.search.settings import log_share

EVERY = (BlockSearch, DistortionSearch, PhraseSearch, RuleSearch, LcsSearch)


@pytest.mark.parametrize("kind", EVERY)
def test_every_search_checks_its_counts_and_shares(kind: type) -> None:
    assert kind(threshold=0.0, beam=None).log_threshold == -math.inf
    assert kind(threshold=0.5).log_threshold == pytest.approx(math.log(0.5))
    for name in ("beam", "options", "nbest", "max_words"):
        with pytest.raises(InputError, match=f"decoder setting {name}"):
            replace(kind(), **{name: 0})
    for share in (1.0, -0.1, math.nan):
        with pytest.raises(InputError, match="decoder setting threshold"):
            kind(threshold=share)


def test_the_log_of_nothing() -> None:
    assert [log_share(0.0), log_share(1.0)] == [-math.inf, 0.0]
