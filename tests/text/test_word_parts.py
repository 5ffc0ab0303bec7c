"""Parts of words: against all splits of a word, and as `xlate prepare` and `xlate translate` split them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.work.test_corpus_stage import built, corpus
from xlate.errors import InputError
from xlate.text.lines import read_lines, write_lines
from xlate.text.word_parts import WordSplitter, affixes_of
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

    found = WordSplitter(counts).apply([word])
    every = list(all_splits(word, counts))
    if not every or len(word) < 8:
        assert found == [word]
    else:
        assert found in every or found == [word]
        assert mean(found) == pytest.approx(max(map(mean, every)))


def test_parts_are_in_their_most_frequent_form_and_everything_else_is_kept(tmp_path: Path) -> None:
    splitter = WordSplitter({"Haus": 3, "haus": 2, "wand": 2, "Wand": 1, "ab": 9, "3000er": 5})
    words = ["Hauswand", "HAUSWAND", "abhaus", "haus-wand", "3000erhaus", "wand", "Hauswand" * 9]
    assert splitter.apply(words) == ["Haus", "wand", "Haus", "wand", *words[2:]]
    splitter.save(tmp_path / "counts")
    assert WordSplitter.load(tmp_path / "counts", ["compounds"]).apply(words) == splitter.apply(words)
    write_lines(tmp_path / "counts", ["Haus 3", "wand"])
    with pytest.raises(InputError, match=":2: not a file of counts"):
        WordSplitter.load(tmp_path / "counts", ["compounds"])


def affixed(word: str, known: dict[str, int]) -> set[tuple[str, ...]]:
    """The best ways to write a word as affixes and a known word, itself written in such a way, by recursion."""
    every: set[tuple[str, ...]] = {(word,)} if word in known else set()
    for prefix, suffix in product(["", *known], ["", *known]):
        stem = word.removeprefix(prefix.removesuffix("+")).removesuffix(suffix.removeprefix("+"))
        parts = tuple(part for part in (prefix, stem, suffix) if part)
        joined = "".join(part.strip("+") for part in parts) == word and len(parts) > 1
        if joined and stem in known and prefix[-1:] in ("", "+") and suffix[:1] in ("", "+"):
            every.add(parts)
    means = {parts: math.prod(known[part] for part in parts) ** (1 / len(parts)) for parts in every}
    best = [parts for parts, mean in means.items() if mean == pytest.approx(max(means.values()))]
    found: set[tuple[str, ...]] = {(word,)} if not best or (word,) in best else set()
    for parts in set(best) - {(word,)}:
        stems = [affixed(part, known) if "+" not in part else {(part,)} for part in parts]
        found |= {tuple(chain(*ways)) for ways in product(*stems)}
    return found


BEGINNINGS, ROOTS, ENDS = ("", "un", "re"), ("wal", "tal", "lepo", "kin"), ("", "ed", "s")


@given(
    st.dictionaries(
        st.tuples(*map(st.sampled_from, (BEGINNINGS, ROOTS, ENDS))).map("".join), st.integers(1, 50), min_size=1
    ),
    st.tuples(*map(st.sampled_from, (BEGINNINGS, (*ROOTS, "n"), ENDS))).map("".join),
)
@example({"waled": 4, "wal": 2, "tal": 3}, "taled")
@example({"unwals": 1, "wal": 9, "unwal": 9}, "unwals")
@example({"tal": 1, "untal": 1, "unkin": 1, "kin": 1, "unlepo": 1, "lepo": 1, "wal": 3, "wals": 2, "tals": 1}, "unwals")
def test_affixes_are_split_off_where_the_geometric_mean_of_counts_is_largest(counts: dict[str, int], word: str) -> None:
    affixes = affixes_of(counts)
    for beginning, end in (("un", "ed"), ("re", "s")):
        assert affixes.get(f"{beginning}+", 0) == sum(beginning + form in counts for form in counts)
        assert affixes.get(f"+{end}", 0) == sum(form + end in counts for form in counts)
    found = WordSplitter(counts, compounds=False, affixes=affixes).apply([word])
    assert tuple(found) in affixed(word, counts | affixes)


def test_an_affix_is_what_one_word_in_two_hundred_has() -> None:
    words = [f"{a}{b}{c}" for a in "bdfghkpv" for b in "aeiou" for c in "lmnrt"]
    assert affixes_of(dict.fromkeys([*words[:199], "balla"], 1)) == {"+la": 1}
    assert affixes_of(dict.fromkeys([*words, "balla"], 1)) == {}
    # A stem has three letters, an affix four at most, and the case of letters does not matter.
    forms = {"Bal": 1, "balungen": 1, "sabal": 1, "balungens": 1, "balkist": 1, "al": 1}
    assert affixes_of(forms) == {"sa+": 1, "+s": 1, "+kist": 1}


def test_a_stem_is_split_as_the_word_itself_and_of_equal_means_the_fewest_parts_are_taken() -> None:
    splitter = WordSplitter({"bal": 9, "bala": 2, "kin": 4, "kina": 4}, affixes={"+a": 4, "+n": 5})
    assert splitter.apply(["balan", "kina", "kinan"]) == ["bal", "+a", "+n", "kina", "kina", "+n"]


def test_parts_of_a_compound_lose_their_affixes_and_both_are_kept_in_the_file(tmp_path: Path) -> None:
    forms = {"Haus": 3, "Hauses": 1, "Wand": 5, "Tische": 1, "Tisch": 4}
    splitter = WordSplitter(forms, affixes={"+es": 2, "+e": 7, "un+": 1})
    assert splitter.apply(["Hauswande", "Wandhauses"]) == ["Hauswande", "Wand", "Haus", "+es"]
    assert splitter.apply(["UNTISCH", "Tische"]) == ["un+", "Tisch", "Tisch", "+e"]
    splitter.save(tmp_path / "parts")
    assert (tmp_path / "parts").read_text().splitlines()[:3] == ["+e 7", "+es 2", "Haus 3"]
    words = ["Wandtische", "Tische", "Unwandes"]
    for split in (["compounds", "affixes"], ["compounds"], ["affixes"]):
        affixes = splitter.affixes if "affixes" in split else {}
        expected = WordSplitter(forms, compounds="compounds" in split, affixes=affixes).apply(words)
        assert WordSplitter.load(tmp_path / "parts", split).apply(words) == expected
    assert expected == ["Wandtische", "Tisch", "+e", "un+", "Wand", "+es"]


# For each way to split words: a text whose first line has one to split, its parts, another such word, and one to keep.
SPLIT = {
    "compounds": (["Die Hauswand .", "Das Haus .", "Die Wand , Haus .", "Wande ."], "Haus Wand", "Wandhaus", "Wande"),
    "affixes": (["Die Wande .", "Das Tor .", "Die Wand .", "Gartentor , Tor , Tore ."], "Wand +e", "Tore", "Gartentor"),
}


@pytest.mark.parametrize(("kind", "case"), [("compounds", "lower"), ("affixes", "true"), ("affixes", "keep")])
def test_training_text_and_later_lines_are_split_alike(tmp_path: Path, kind: str, case: str) -> None:
    lines, parts, other, kept = SPLIT[kind]
    parts = parts.lower() if case == "lower" else parts
    data = corpus(tmp_path, **{kind: True})
    data.case = case
    write_lines(tmp_path / "train.fr", lines)
    write_lines(tmp_path / "train.en", lines)
    first, *_ = read_lines(built(data, tmp_path / "corpus") / "train.source.gz")
    assert parts in first
    work = WorkDirectory(tmp_path)
    assert " ".join(work.source_tokens(lines[0])) == first
    assert len(work.source_tokens(f"a {other} b")) == 4
    assert len(work.source_tokens(f"a {kept} b")) == len(work.target_tokens(f"a {other} b")) == 3
    assert all(part in work.source_vocabulary for part in parts.split())


def test_words_are_not_left_whole_if_the_parts_are_lost(tmp_path: Path) -> None:
    built(corpus(tmp_path, affixes=True), tmp_path / "corpus")
    (tmp_path / "corpus" / "word_parts.source").unlink()
    with pytest.raises(InputError, match=r"word_parts\.source"):
        WorkDirectory(tmp_path).source_tokens("fr 1")


def test_words_with_factors_are_not_split(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="factors of words that are split"):
        built(corpus(tmp_path, source_factors=["pos"], affixes=True), tmp_path / "corpus")
