"""What Moses itself wrote has the form that our tables are held to."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from tests.formats.moses_form import assert_moses_form

LINES = 20_000


@pytest.mark.parametrize("kind", ["wbe", "hier"])
def test_real_tables_have_the_form(shared_data: Path, kind: str) -> None:
    model = shared_data / "moses" / "model"
    with (
        gzip.open(model / "phrase-table.gz", "rt", encoding="utf-8", newline="\n") as phrases,
        gzip.open(model / f"reordering-table.{kind}-msd-bidirectional-fe.gz", "rt", encoding="utf-8") as reordering,
    ):
        first = [line.rstrip("\n") for line in islice(phrases, LINES)]
        assert assert_moses_form(first, (line.rstrip("\n") for line in islice(reordering, LINES)), scores=4) == LINES


@pytest.mark.parametrize(
    "wrong",
    [
        "a b ||| c ||| 0.5 0.1 1 0.2 ||| 0-0 ||| 2 1 1 |||",
        "a b ||| c ||| 0.5 0.1 1 ||| 0-0 ||| 2 1 1 ||| |||",
        "a b ||| c ||| 0.5 0.1 1 0 ||| 0-0 ||| 2 1 1 ||| |||",
        "a b ||| c ||| 0.5 0.1 1 0.2 ||| 0-1 ||| 2 1 1 ||| |||",
        "a b ||| c d ||| 0.5 0.1 1 0.2 ||| 0-1 1-0 ||| 2 1 1 ||| |||",
        "a b ||| c ||| 0.4 0.1 1 0.2 ||| 0-0 ||| 2 1 1 ||| |||",
        "a  b ||| c ||| 0.5 0.1 1 0.2 ||| 0-0 ||| 2 1 1 ||| |||",
    ],
)
def test_what_has_not_is_noticed(wrong: str) -> None:
    assert assert_moses_form(["a b ||| c ||| 0.5 0.1 1 0.2 ||| 0-0 ||| 2 1 1 ||| |||"], None, scores=4) == 1
    with pytest.raises(AssertionError):
        assert_moses_form([wrong], None, scores=4)
