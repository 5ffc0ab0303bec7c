"""Compounds: against all splits of a word, and as `xlate prepare` and `xlate translate` split them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.work.test_corpus_stage import built, corpus
from xlate.errors import InputError
from xlate.text.compounds import CompoundSplitter
from xlate.text.lines import read_lines, write_lines
from xlate.work.directory import WorkDirectory

WORDS = ["baum", "aums", "haus", "hausbaum", "esel", "stuhl", "tuhl", "baums"]


def all_splits(word: str, counts: dict[str, int]) -> Iterator[list[str]]:
    """Every way to write a word as known words with `s`, `es` or nothing in between, by recursion."""
    if word in counts:
        yield [word]
    for end in range(4, len(word)):
        for filler in ("", "s", "es"):
            if word[:end] in counts and word[end:].startswith(filler) and len(word) > end + len(filler):
                yield from ([word[:end], *rest] for rest in all_splits(word[end + len(filler) :], counts))


@given(
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 50), min_size=1),
    st.lists(st.sampled_from([*WORDS, "s", "es", "x"]), min_size=1, max_size=4).map("".join),
)
@example({"baum": 4, "haus": 9, "hausbaum": 7}, "hausbaum")
@example({"baum": 1, "haus": 1}, "baumshaus")
def test_a_word_is_split_where_the_geometric_mean_of_counts_is_largest(counts: dict[str, int], word: str) -> None:
    def mean(parts: list[str]) -> float:
        return math.prod(counts[part] for part in parts) ** (1 / len(parts))

    found = CompoundSplitter(counts).apply([word])
    every = list(all_splits(word, counts))
    if not every or len(word) < 8:
        assert found == [word]
    else:
        assert found in every or found == [word]
        assert mean(found) == pytest.approx(max(map(mean, every)))


def test_parts_are_in_their_most_frequent_form_and_everything_else_is_kept(tmp_path: Path) -> None:
    splitter = CompoundSplitter({"Haus": 3, "haus": 2, "wand": 2, "Wand": 1, "ab": 9, "3000er": 5})
    words = ["Hauswand", "HAUSWAND", "abhaus", "haus-wand", "3000erhaus", "wand", "Hauswand" * 9]
    assert splitter.apply(words) == ["Haus", "wand", "Haus", "wand", *words[2:]]
    splitter.save(tmp_path / "counts")
    assert CompoundSplitter.load(tmp_path / "counts").apply(words) == splitter.apply(words)
    write_lines(tmp_path / "counts", ["Haus 3", "wand"])
    with pytest.raises(InputError, match=":2: not a file of counts"):
        CompoundSplitter.load(tmp_path / "counts")


@pytest.mark.parametrize(("case", "parts"), [("lower", "haus wand"), ("keep", "Haus Wand"), ("true", "Haus Wand")])
def test_training_text_and_later_lines_are_split_alike(tmp_path: Path, case: str, parts: str) -> None:
    data = corpus(tmp_path, compounds=True)
    data.case = case
    write_lines(tmp_path / "train.fr", ["Die Hauswand .", "Das Haus .", "Die Wand .", "Ein Haus , eine Wand ."])
    write_lines(tmp_path / "train.en", ["Hauswand a", "b", "c", "d"])
    stage = built(data, tmp_path / "corpus")
    first, *_ = read_lines(stage / "train.source.gz")
    assert first.lower().split() == ["die", "haus", "wand", "."]
    assert parts in first
    work = WorkDirectory(tmp_path)
    assert " ".join(work.source_tokens("Die Hauswand .")) == first
    assert parts in " ".join(work.source_tokens("Eine Haushauswand ."))
    assert "hauswand" in work.target_tokens("Hauswand a")[0].lower()
    assert parts.split()[0] in work.source_vocabulary


def test_words_with_factors_are_not_split(tmp_path: Path) -> None:
    data = corpus(tmp_path, compounds=True, source_factors=["pos"])
    with pytest.raises(InputError, match="factors of words that are split"):
        built(data, tmp_path / "corpus")
