"""A text of what is chosen of each list, in the order of the sentences."""

from __future__ import annotations

import pytest

from xlate.errors import InputError
from xlate.models.rerank.lists import sentence_lines


@pytest.mark.parametrize(
    ("sentences", "size", "first", "lines"),
    [
        ([4, 0, 1, 2], 5, None, ["c0", "c1", "c2", "", "c4"]),
        ([12, 10], 3, 10, ["c10", "", "c12"]),
        ([2, 0], None, None, ["c0", "", "c2"]),
        ([3, 1, 2], None, None, ["c1", "c2", "c3"]),
        ([3, 1], None, 1, ["c1", "", "c3"]),
    ],
)
def test_line_n_is_sentence_n(
    caplog: pytest.LogCaptureFixture, sentences: list[int], size: int | None, first: int | None, lines: list[str]
) -> None:
    assert sentence_lines({number: f"c{number}" for number in sentences}, size, first, "list") == lines
    empty = f"{lines.count('')} of {len(lines)} sentences have no list"
    assert [empty in message for message in caplog.messages] == [True] * ("" in lines)
    if "" in lines:
        assert caplog.messages[0].endswith(f"the first is line {lines.index('') + 1}")


@pytest.mark.parametrize(("size", "words"), [(3, "do not match"), (None, "cannot be line numbers")])
def test_numbers_that_are_none_of_lines(size: int | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        sentence_lines({0: "a", 10_000_000: "b"}, size)
