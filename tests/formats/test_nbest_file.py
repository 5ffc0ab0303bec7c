"""Lists in other forms, columns made elsewhere, duplicates, and lists of several systems as one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.candidates.nbest import nbest_arrays
from xlate.errors import InputError
from xlate.formats.nbest_check import check_nbest
from xlate.formats.nbest_file import NbestFile
from xlate.formats.nbest_list import Hypothesis, write_nbest
from xlate.text.lines import LONGEST_LINE

FAIRSEQ = """\
2026-01-01 | INFO | fairseq_cli.generate | loading
S-3\tdas Haus
T-3\tthe house
H-3\t-0.5\tthe hou@@ se
D-3\t-0.5\tthe house
P-3\t-0.25 -0.75 -0.5
H-3\t-1.5\ta house
P-3\t-1.5
S-1\tes ist
H-1\t-0.125\tit is
P-1\t-0.125
Generate test with beam=5: BLEU4 = 1
"""
JSONL = """\
{"id": 7, "src": "das Haus", "hyp": "the  house", "scores": {"lm": -1.5, "qe": 0.5}, "score": -2}
{"id": 7, "src": "das Haus", "hyp": "", "scores": {"lm": -2, "qe": 1}, "score": -3}
{"id": 9, "src": "es", "hyp": "it is", "scores": {"lm": 0.001, "qe": 0}, "score": -1}
"""
MARIAN = """\
0 ||| a b ||| 0-0 1-1 ||| WordScores= -0.1 -0.2 -0.3 ||| F0=-2.2 ||| -1.1
0 ||| a ||| ||| WordScores= -0.1 -0.2 ||| F0= -2.5 ||| -1.25
1 ||| c ||| WordScores= -1 -2 ||| F0= -3 F1= 3 ||| -1.5
2 ||| d ||| 0.5,0.5 1,0 ||| F0= -3.5 ||| -1.75
"""


def written(folder: Path, text: str, name: str = "list") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def shapes(nbest: NbestFile) -> list[list[str]]:
    return [[hypothesis.text for hypothesis in group] for group in nbest.lists()]


def named(hypothesis: Hypothesis) -> dict[str, float]:
    return dict(zip((name for name, _ in hypothesis.layout), hypothesis.values, strict=True))


def test_marian_with_alignments_and_word_scores_before_the_features(tmp_path: Path) -> None:
    read = [h for group in NbestFile(written(tmp_path, MARIAN)).lists() for h in group]
    assert [(h.text, named(h), h.total) for h in read] == [
        ("a b", {"F0": -2.2}, -1.1),
        ("a", {"F0": -2.5}, -1.25),
        ("c", {"F0": -3, "F1": 3}, -1.5),
        ("d", {"F0": -3.5}, -1.75),
    ]
    assert read[0].with_value("x", 2.0).with_total(1.0).fields[2:] == (
        "0-0 1-1",
        "WordScores= -0.1 -0.2 -0.3",
        "F0=-2.2 x= 2",
        "1",
    )


def test_fairseq(tmp_path: Path) -> None:
    for form, text in (("fairseq", FAIRSEQ), ("auto", FAIRSEQ.partition("\n")[2])):
        read = list(NbestFile(written(tmp_path, text), form).lists())
        assert [[(h.sentence, h.text, h.total) for h in group] for group in read] == [
            [(3, "the house", -0.5), (3, "a house", -1.5)],
            [(1, "it is", -0.125)],
        ]
        assert named(read[0][0]) == {"score": -0.5, "log_prob": -1.5, "least_log_prob": -0.75, "pieces": 3}
        assert [group[0].source for group in read] == ["das Haus", "es ist"]
    with pytest.raises(InputError, match="D-2 without its H-2"):
        list(NbestFile(written(tmp_path, "H-1\t-1\ta\nD-2\t-1\tb\n")).lists())
    with pytest.raises(InputError, match="list:2: "):
        list(NbestFile(written(tmp_path, "S-1\ta\nH-1\t-inf\ta\n")).lists())


def test_plain_text_of_a_fixed_number(tmp_path: Path) -> None:
    path = written(tmp_path, "a b\n\nc\nd\n")
    read = list(NbestFile(path, size=2).lists())
    assert [[(h.sentence, h.text, h.total, h.layout) for h in group] for group in read] == [
        [(0, "a b", None, ()), (0, "", None, ())],
        [(1, "c", None, ()), (1, "d", None, ())],
    ]
    with pytest.raises(InputError, match="4 lines are no multiple of 3"):
        list(NbestFile(path, size=3).lists())
    with pytest.raises(InputError, match="does not say where a list ends"):
        NbestFile(path, "plain")


def test_json_lines_are_written_as_fields_with_bars(tmp_path: Path) -> None:
    nbest = NbestFile(written(tmp_path, JSONL))
    read = list(nbest.lists())
    assert [(group[0].sentence, group[0].source, len(group)) for group in read] == [(7, "das Haus", 2), (9, "es", 1)]
    write_nbest(tmp_path / "out", nbest.hypotheses())
    again = [h for group in NbestFile(tmp_path / "out").lists() for h in group]
    before = [h for group in read for h in group]
    assert [(h.text, h.layout, h.values, h.total) for h in again] == [
        (h.text, h.layout, h.values, h.total) for h in before
    ]


def test_json_lines_may_hold_documents(tmp_path: Path) -> None:
    document = " ".join(["word"] * (LONGEST_LINE // 4))
    read = list(NbestFile(written(tmp_path, f'{{"id": 0, "hyp": "{document}"}}\n')).lists())
    assert [h.text for group in read for h in group] == [document]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": 0, "hyp": "a"', "JSON|delimiter|Expecting"),
        ('{"id": "0", "hyp": "a"}', "id is no whole number"),
        ('{"id": 0, "hyp": ["a"]}', "hyp is no text"),
        ('{"id": 0, "hyp": "a", "src": 1}', "src is no text"),
        ('{"id": 0, "hyp": "a", "scores": {"x": NaN}}', "no finite number"),
        *((f'{{"id": 0, "hyp": "a", "scores": {scores}}}', "scores are no object") for scores in ("0", "false", "[]")),
        ('{"id": 0, "hyp": "a", "qe": Infinity}', "qe is no finite number"),
        ('{"id": 0, "hyp": "a", "scores": {"qe": 1}, "qe": 1}', "a feature stands twice"),
        ('{"id": 7, "hyp": "a", "src": "der Hund"}', "two sources of one sentence: das Haus and der Hund"),
        ('{"id": 0, "hyp": "a", "scores": {"x y": 1}}', "name with a blank"),
        ('{"id": 0, "hyp": "a\\nb"}', "line end"),
        ('{"id": 0, "hyp": "a ||| b"}', "inside the text"),
        ('{"id": 0, "hyp": "\\ud800"}', "surrogates"),
        ("[]", "no JSON object"),
    ],
)
def test_json_lines_that_are_refused_are_named(tmp_path: Path, line: str, words: str) -> None:
    path = written(tmp_path, JSONL.partition("\n")[0] + "\n" + line + "\n")
    with pytest.raises(InputError, match=words) as raised:
        list(NbestFile(path).lists())
    assert raised.value.line == 2
    assert len(check_nbest(path).errors) == 1


def test_numbers_beside_the_words_are_features(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    line = '{"qe": 0.5, "id": 0, "hyp": "a", "scores": {"lm": -1}, "n": 3, "score": -2, "list": [1], "text": "0.5"}\n'
    ((read,),) = NbestFile(written(tmp_path, line)).lists()
    assert (named(read), read.total) == ({"lm": -1, "qe": 0.5, "n": 3}, -2)
    for name in ("list", "text"):
        assert f"the field '{name}' of JSON lines is no number" in caplog.text


@pytest.mark.parametrize("text", [JSONL, MARIAN, FAIRSEQ.partition("\n")[2]])
def test_a_byte_order_mark_is_no_part_of_a_list(tmp_path: Path, text: str) -> None:
    marked, plain = NbestFile(written(tmp_path, "\ufeff" + text, "marked")), NbestFile(written(tmp_path, text))
    assert list(marked.lists()) == list(plain.lists())
    assert check_nbest(marked).errors == []


def test_sources_of_one_sentence_may_differ_in_how_they_are_written(tmp_path: Path) -> None:
    sources = ["Das ist's, Köln!", "das ist &apos;s , kö@@ ln !", "<unk> ist's"]
    lines = [f'{{"id": 0, "src": "{source}", "hyp": "h{place}"}}\n' for place, source in enumerate(sources)]
    ((first, *_),) = NbestFile(written(tmp_path, "".join(lines))).lists()
    assert first.source == sources[0]


def test_fairseq_lists_of_one_hypothesis_keep_their_sources(tmp_path: Path) -> None:
    lines = "S-0\tein Haus\nH-0\t-1\ta house\nS-1\tes\nH-1\t-1\tit\n"
    assert [h.source for (h,) in NbestFile(written(tmp_path, lines)).lists()] == ["ein Haus", "es"]
    with pytest.raises(InputError, match=r"list:3: two sources of one sentence: ein Haus and es"):
        list(NbestFile(written(tmp_path, lines.replace("S-1", "S-0"))).lists())


def test_columns_made_elsewhere(tmp_path: Path) -> None:
    path, comet = written(tmp_path, JSONL), written(tmp_path, "0.5\n-1e-2\n3\n", "comet")
    arrays = nbest_arrays(NbestFile(path, added=(f"comet={comet}",)).lists())
    assert arrays.names == ("lm", "qe", "comet")
    assert arrays.values_V.reshape(3, 3)[:, 2].tolist() == [0.5, -0.01, 3]
    for text, line, words in (
        ("1\n2\n", 3, "2 lines"),
        ("1\n2\n3\n4\n", 4, "more than 3 lines"),
        ("1\nnan\n3\n", 2, "nan"),
    ):
        with pytest.raises(InputError, match=words) as raised:
            list(NbestFile(path, added=(f"x={written(tmp_path, text, 'other')}",)).lists())
        assert (raised.value.file, raised.value.line) == (str(tmp_path / "other"), line)
    with pytest.raises(InputError, match="has already"):
        list(NbestFile(path, added=(f"lm={comet}",)).lists())
    for wrong in ("comet", f"a b={comet}", f"={comet}"):
        with pytest.raises(InputError, match="names a feature and its file"):
            NbestFile(path, added=(wrong,))
    assert check_nbest(NbestFile(path, added=(f"x={comet}",))).errors == []


def test_columns_belong_to_the_list_with_its_duplicates(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, "a\nb\na\nc\nc\nc\n")
    column = written(tmp_path, "1\n2\n3\n4\n5\n6\n", "x")
    caplog.set_level("INFO")
    file = NbestFile(path, size=3, duplicates="drop", added=(f"x={column}",))
    read, again = list(file.lists()), list(file.lists())
    assert read == again
    assert [[(h.text, h.values) for h in group] for group in read] == [[("a", [1]), ("b", [2])], [("c", [4])]]
    assert caplog.text.count("3 hypotheses of the same words dropped") == 1
    assert len(shapes(NbestFile(path, size=3))[1]) == 3


def test_lists_of_several_systems(tmp_path: Path) -> None:
    first = written(tmp_path, "0 ||| a ||| lm= -1 tm= 1 2 ||| -1\n0 ||| b ||| lm= -3 tm= 0 4 rare= 1 ||| -2\n")
    other = written(tmp_path, '{"id": 0, "src": "s", "hyp": "b", "scores": {"p": -5}}\n{"id": 0, "hyp": "c"}\n', "o")
    ((a, b, c),) = NbestFile(first, others=(f"o={other}",)).lists()
    assert [h.text for h in (a, b, c)] == ["a", "b", "c"]
    # Lines are of the first list: what it lacks stands where the sentence begins there.
    assert [h.line for h in (a, b, c)] == [1, 2, 1]
    assert dict(zip(nbest_arrays([[a]]).names, a.values, strict=True)) == {
        "lm": -1, "tm_0": 1, "tm_1": 2, "total": -1, "has": 1, "o.has": 0, "systems": 1, "reciprocal_ranks": 1,
    }  # fmt: skip
    assert dict(zip(nbest_arrays([[b]]).names, b.values, strict=True)) == {
        "lm": -3, "tm_0": 0, "tm_1": 4, "rare": 1, "total": -2, "has": 1, "o.p": -5, "o.has": 1, "systems": 2,
        "reciprocal_ranks": 1.5,
    }  # fmt: skip
    lowest = dict(zip(nbest_arrays([[c]]).names, c.values, strict=True))
    assert (lowest["lm"], lowest["tm_0"], lowest["tm_1"], lowest["total"], lowest["has"]) == (-3, 0, 2, -2, 0)
    assert (a.total, c.source) == (None, "s")
    more = written(tmp_path, first.read_text() + "1 ||| a ||| lm= -1 tm= 1 2 ||| -1\n", "more")
    with pytest.raises(InputError, match="sentence 1, which o lacks"):
        list(NbestFile(more, others=(f"o={other}",)).lists())
    with pytest.raises(InputError, match=rf"more:3: a sentence that the first list lacks\n.*sentence 1, which {first}"):
        list(NbestFile(first, others=(f"o={more}",)).lists())
    another = written(tmp_path, '{"id": 0, "src": "t", "hyp": "b"}\n', "another")
    with pytest.raises(InputError, match="another:1: another source than in the lists before"):
        list(NbestFile(first, others=(f"o={other}", f"p={another}")).lists())


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), min_size=1, max_size=4))
def test_what_is_kept_are_the_first_of_each_text(lists: list[list[str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lines = [f"{i} ||| {text} ||| p= {k}" for i, texts in enumerate(lists) for k, text in enumerate(texts)]
        path = written(Path(folder), "\n".join(lines) + "\n")
        read = list(NbestFile(path, duplicates="drop").lists())
    for texts, group in zip(lists, read, strict=True):
        assert [h.text for h in group] == list(dict.fromkeys(texts))
        assert [texts.index(h.text) for h in group] == [int(h.values[0]) for h in group]


def test_a_list_that_cannot_be_read_to_its_end_is_checked(tmp_path: Path) -> None:
    report = check_nbest(NbestFile(written(tmp_path, "a\nb\nc\n"), size=2))
    assert [error.message for error in report.errors] == ["3 lines are no multiple of 2"]
    fairseq = check_nbest(NbestFile(written(tmp_path, FAIRSEQ), "fairseq"))
    assert (fairseq.errors, fairseq.to_json()["hypotheses"], fairseq.oddities["duplicates"]) == ([], 3, 0)


@pytest.mark.parametrize(
    ("text", "told"),
    [(FAIRSEQ, False), ("a b\nc d\n", False), ("0 ||| a ||| ||| 1\nb\n", True), ('{"id": 0, "hyp": "a"}\nb\n', True)],
)
def test_where_the_first_line_does_not_tell_the_form_the_keys_are_named(tmp_path: Path, text: str, told: bool) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        list(NbestFile(path).lists())
    assert caught.value.remedy == check_nbest(path).errors[0].remedy
    assert [key in str(caught.value.remedy) for key in ("nbest_format=fairseq", "nbest_size=N")] == [not told] * 2


def test_json_lines_of_a_sentence_apart(tmp_path: Path) -> None:
    rows = [f'{{"id": {number}, "hyp": "a"}}\n' for number in (0, 1, 0)]
    with pytest.raises(InputError, match=r"list:3: a sentence that came before[\s\S]*jq -cs 'sort_by\(\.id\)\[\]'"):
        list(NbestFile(written(tmp_path, "".join(rows))).lists())
