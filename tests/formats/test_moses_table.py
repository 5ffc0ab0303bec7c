"""Moses phrase tables: by hand, round trips, odd words, refusals with the line; bars are escaped and come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import random_corpus
from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.formats.moses_table import (
    escape_bars,
    phrases_in,
    read_phrase_table,
    unescape_bars,
    write_phrase_table,
)
from xlate.phrases.extract import extract_phrases
from xlate.phrases.table import PhraseTable, score_phrases
from xlate.text.lines import read_lines, write_lines
from xlate.text.vocabulary import EncodedText, Vocabulary

GOOD = [
    "das haus ||| the house ||| 1 0.5 1 2.5e-07 ||| 0-0 1-1 ||| 2 2 2 ||| |||",
    "das ||| house ||| 0.333333 0.5 0.333333 0.5 |||  ||| 3 3 1 ||| |||",
    "das ||| the ||| 1 1 0.666667 0.75 ||| 0-0 ||| 2 3 2 ||| |||",
    "haus ||| house ||| 0.666667 0.5 1 0 ||| 0-0 ||| 3 2 2 ||| |||",
]


def made(corpus, max_length=7):
    """The table of a corpus of (source, target, links) word lists, with its vocabularies."""
    source, target, links = (list(side) for side in zip(*corpus, strict=True))
    words = Vocabulary.build(source), Vocabulary.build(target)
    texts = EncodedText.encode(source, words[0]), EncodedText.encode(target, words[1])
    linked = Links.from_pairs(links)
    return score_phrases(extract_phrases(*texts, linked, max_length), lexical_table(*texts, linked)), *words


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "phrase-table"
    write_lines(path, lines)
    return path


def spelled(table: PhraseTable, source: Vocabulary, target: Vocabulary, word_of=lambda word: word) -> dict:
    """{(source words, target words): (scores, links, counts)}."""
    rows = {}
    for b in range(len(table)):
        p, q = table.source_B[b], table.target_B[b]
        sides = (map(source.word, table.source_phrases[p]), map(target.word, table.target_phrases[q]))
        counts = table.target_count_Q[q], table.source_count_P[p], table.count_B[b]
        words = tuple(tuple(map(word_of, side)) for side in sides)
        rows[words] = (*(f"{x:.6g}" for x in table.scores_B4[b]), table.links(b), *counts)
    return rows


def test_read_by_hand_and_written_again(tmp_path):
    path = write(tmp_path, GOOD)
    table, source, target = read_phrase_table(path)
    assert spelled(table, source, target) == {
        (("das", "haus"), ("the", "house")): ("1", "0.5", "1", "2.5e-07", [(0, 0), (1, 1)], 2, 2, 2),
        (("das",), ("house",)): ("0.333333", "0.5", "0.333333", "0.5", [], 3, 3, 1),
        (("das",), ("the",)): ("1", "1", "0.666667", "0.75", [(0, 0)], 2, 3, 2),
        (("haus",), ("house",)): ("0.666667", "0.5", "1", "0", [(0, 0)], 3, 2, 2),
    }
    write_phrase_table(tmp_path / "again", table, source, target)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    write_phrase_table(tmp_path / "sorted", *read_phrase_table(write(tmp_path, [GOOD[k] for k in (2, 0, 3, 1)])))
    assert read_lines(tmp_path / "sorted") == GOOD


def test_round_trip_of_odd_words(tmp_path, rng):
    words = ["|", "|||", "a|b", "&#124;", "&amp;#124;", "a\xa0b", "a\u2028b", "a\rb", "c\td", "\ufeff", "0-0", "é"]
    numbers = random_corpus(rng, 60, 3 + len(words), longest=5)
    corpus = [
        ([words[i - 3] for i in source], [words[j - 3] for j in target], links) for source, target, links in numbers
    ]
    table, source, target = made(corpus, 3)
    write_phrase_table(tmp_path / "t.gz", table, source, target)
    again = read_phrase_table(tmp_path / "t.gz")
    assert spelled(*again, unescape_bars) == spelled(table, source, target)
    write_phrase_table(tmp_path / "u.gz", *again)
    assert (tmp_path / "u.gz").read_bytes() == (tmp_path / "t.gz").read_bytes()
    lines = [line.split(" ||| ") for line in read_lines(tmp_path / "t.gz")]
    assert all(len(parts) == 6 for parts in lines)
    keys = [f"{parts[0]} ||| {parts[1]} ||| ".encode() for parts in lines]
    assert keys == sorted(keys)


def test_escaped_and_factored_text_stays_as_it_is(tmp_path):
    table, source, target = made([(["&#124;", "&apos;"], ["&amp;#124;", "x"], {(0, 0), (1, 1)})])
    write_phrase_table(tmp_path / "t", table, source, target)
    assert read_lines(tmp_path / "t")[0].startswith("&#124; &apos; ||| &amp;#124; x ||| ")
    assert escape_bars("a|||&#124;") == "a&#124;&#124;&#124;&amp;#124;"
    again = read_phrase_table(tmp_path / "t")
    assert spelled(*again) == spelled(table, source, target)
    factored = made([(["haus|NN"], ["house|NN"], {(0, 0)})])
    write_phrase_table(tmp_path / "f", *factored, escape=False)
    assert read_lines(tmp_path / "f")[0].startswith("haus|NN ||| house|NN ||| ")
    assert "haus|NN" in read_phrase_table(tmp_path / "f").source_vocabulary
    for word in ("|||", "", "a b", "a\nb"):
        with pytest.raises(InputError, match=re.escape(f"cannot hold\n  seen:     {word!r}\n")):
            write_phrase_table(tmp_path / "g", *made([([word], ["x"], {(0, 0)})]), escape=False)
    assert not (tmp_path / "g").exists()


def test_old_and_short_forms(tmp_path):
    lines = [
        "a ||| x ||| 0.5 0.5 0.25 0.5 2.718 ||| 0-0 ||| 13 8",
        "a ||| y ||| 0.5 0.5 0.75 0.5 2.718 |||  ||| 6 8",
        "b ||| x ||| 0.5 0.5 1 0.5",
    ]
    table, source, target = read_phrase_table(write(tmp_path, lines))
    rows = spelled(table, source, target)
    assert rows[("a",), ("x",)] == ("0.5", "0.5", "0.25", "0.5", [(0, 0)], 13, 8, 2)
    assert rows[("a",), ("y",)][-3:] == (6, 8, 6)
    assert rows[("b",), ("x",)][4:] == ([], 13, 1, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "a ||| x": "wrong number of fields",
        "a ||| x ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| s ||| t ||| u": "wrong number of fields",
        "a  b ||| x ||| 1 1 1 1": "an empty phrase",
        "a ||| x ||| 1 1 1": "wrong number of scores",
        "a ||| x ||| 1 1 1 1 1": "wrong number of scores",
        "a ||| x ||| 1 1 one 1": "not numbers",
        "a ||| x ||| 1 1 1 1 ||| 0-0 ||| nan 1 1": "not numbers",
        f"a ||| x ||| 1 1 1 1 ||| 0-{'0' * 5000}": "malformed link",
        "a ||| x ||| 1 -1 1 1": "out of range",
        "a ||| x ||| 1 1 1 1 ||| 0-0 ||| 1": "wrong number of counts",
        "a ||| x ||| 1 1 1 1 ||| 0-0 ||| 1 1 -1": "out of range",
        "a ||| x ||| 1 1 1 1 ||| 0-0-0 ||| 1 1 1": "malformed link",
        "a ||| x ||| 1 1 1 1 ||| 0-99999999 ||| 1 1 1": "a link outside its phrases",
        "das ||| the ||| 1 1 1 1": "a phrase pair appears twice",
        "a <unk> ||| x ||| 1 1 1 1": "a reserved word",
        "a ||| </s> ||| 1 1 1 1": "a reserved word",
    }.items(),
)
def test_ill_formed_lines_are_refused_with_their_number(tmp_path, line, message):
    with pytest.raises(InputError, match=f"phrase-table:5: .*{message}"):
        read_phrase_table(write(tmp_path, [*GOOD, line, "z ||| z ||| 1 1 1 1"]))


def test_only_the_phrases_of_a_text_are_read(tmp_path):
    """Lines of other phrases are not looked at, but they count: an error names the line in the whole file."""
    assert phrases_in([["a", "b", "c"], ["b"]], 2) == {"a", "b", "c", "a b", "b c"}
    lines = ["x ||| broken", "a ||| u ||| 1 1 0.5 1", "y y ||| v ||| 1 1 1 1", "a b ||| w ||| 1 1 1 1"]
    table, source, _ = read_phrase_table(write(tmp_path, lines), only=phrases_in([["a", "b", "y"]], 2))
    words = [[source.word(word) for word in table.source_phrases[row].tolist()] for row in range(2)]
    assert (words, len(table)) == ([["a"], ["a", "b"]], 2)
    for line, message in (("a ||| u ||| 1 1 1 1", "appears twice"), ("a ||| t ||| 1 1 1 -1", "out of range")):
        with pytest.raises(InputError, match=f":5: .*{message}"):
            read_phrase_table(write(tmp_path, [*lines, line]), only={"a"})


def test_a_grammar_is_not_a_phrase_table(tmp_path):
    with pytest.raises(InputError, match="rules of a grammar"):
        read_phrase_table(write(tmp_path, ["[X] ||| a [X,1] ||| b [X,1] ||| 0.1 0.2 0.3 0.4"]))
    # A phrase of one word in brackets is one, and a table may be empty.
    for lines in (["[a] ||| b ||| 1 1 1 1"], []):
        write_phrase_table(tmp_path / "again", *read_phrase_table(write(tmp_path, lines)))
        assert len(read_lines(tmp_path / "again")) == len(lines)


@pytest.mark.corpus
@pytest.mark.slow
def test_moses_table_comes_back_identical(shared_data, tmp_path):
    path = shared_data / "moses" / "model" / "phrase-table.gz"
    write_phrase_table(tmp_path / "again.gz", *read_phrase_table(path))
    assert read_lines(tmp_path / "again.gz") == read_lines(path)


TEXT = st.lists(st.sampled_from(["|", "&", "amp;", "#124;", "&#124;", "&amp;", "a", ";"]), max_size=8).map("".join)


@settings(max_examples=50)
@given(TEXT | st.text())
def test_every_word_comes_back_from_its_escape(word):
    assert "|" not in escape_bars(word)
    assert unescape_bars(escape_bars(word)) == word
    without = word.replace("|", "")
    assert escape_bars(unescape_bars(without)) == without
