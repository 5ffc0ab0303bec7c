"""Lists in other forms, columns made elsewhere, duplicates, and lists of several systems as one."""

from __future__ import annotations

import pytest

from xlate.errors import InputError
from xlate.formats.nbest_check import check_nbest
from xlate.formats.nbest_file import NbestFile, nbest_arrays
from xlate.formats.nbest_list import write_nbest
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
WITHOUT_LOG = FAIRSEQ.partition("\n")[2]
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


@pytest.fixture
def written(tmp_path):
    def write(text, name="list"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def shown(nbest):
    """Sentence, text, total and features of each hypothesis."""
    return [[(h.sentence, h.text, h.total, named(h)) for h in group] for group in nbest.lists()]


def named(hypothesis):
    return dict(zip((name for name, _ in hypothesis.layout), hypothesis.values, strict=True))


def test_marian_with_alignments_and_word_scores_before_the_features(written):
    nbest = NbestFile(written(MARIAN))
    assert shown(nbest) == [
        [(0, "a b", -1.1, {"F0": -2.2}), (0, "a", -1.25, {"F0": -2.5})],
        [(1, "c", -1.5, {"F0": -3, "F1": 3})],
        [(2, "d", -1.75, {"F0": -3.5})],
    ]
    changed = next(nbest.hypotheses()).with_value("x", 2.0).with_total(1.0)
    assert changed.fields[2:] == ("0-0 1-1", "WordScores= -0.1 -0.2 -0.3", "F0=-2.2 x= 2", "1")


@pytest.mark.parametrize(("form", "text"), [("fairseq", FAIRSEQ), ("auto", WITHOUT_LOG)])
def test_fairseq(written, form, text):
    nbest = NbestFile(written(text), form)
    pieces = {"score": -0.5, "log_prob": -1.5, "least_log_prob": -0.75, "pieces": 3}
    (first, second), (third,) = shown(nbest)
    assert first == (3, "the house", -0.5, pieces)
    assert (second[:3], third[:3]) == ((3, "a house", -1.5), (1, "it is", -0.125))
    assert [group[0].source for group in nbest.lists()] == ["das Haus", "es ist"]
    report = check_nbest(nbest)
    assert (report.errors, report.to_json()["hypotheses"], report.oddities["duplicates"]) == ([], 3, 0)


def test_plain_text_of_a_fixed_number(written):
    path = written("a b\n\nc\nd\n")
    first, second = [(0, "a b", None, {}), (0, "", None, {})], [(1, "c", None, {}), (1, "d", None, {})]
    assert shown(NbestFile(path, size=2)) == [first, second]
    with pytest.raises(InputError, match="does not say where a list ends"):
        NbestFile(path, "plain")


def test_json_lines_are_written_as_fields_with_bars(written, tmp_path):
    nbest = NbestFile(written(JSONL))
    assert [(group[0].source, len(group)) for group in nbest.lists()] == [("das Haus", 2), ("es", 1)]
    write_nbest(tmp_path / "out", nbest.hypotheses())
    assert shown(NbestFile(tmp_path / "out")) == shown(nbest)
    # They may hold documents.
    document = " ".join(["word"] * (LONGEST_LINE // 4))
    ((read,),) = NbestFile(written(f'{{"id": 0, "hyp": "{document}"}}\n')).lists()
    assert read.text == document


FIRST = JSONL.partition("\n")[0] + "\n"


@pytest.mark.parametrize(
    ("text", "size", "line", "words"),
    [
        *(
            (FIRST + line, None, 2, words)
            for line, words in {
                '{"id": 0, "hyp": "a"': "JSON|delimiter|Expecting",
                '{"id": 0.5, "hyp": "a"}': "id is neither a whole number nor text",
                '{"id": "a", "hyp": "a"}': "some ids are numbers",
                '{"hyp": "a"}': "neither an id nor a source",
                '{"id": -1, "hyp": "a"}': "-1",
                '{"id": 99999999999999999999, "hyp": "a"}': "99999999999999999999",
                '{"id": 0, "hyp": "a", "score": "high"}': "score",
                '{"id": 0, "hyp": "a", "scores": {"lm": 1e300}}': "lm",
                '{"id": 0, "hyp": "a", "scores": {"a=b": 1}}': "a=b",
                '{"id": 0, "hyp": ' + "[" * 5000: "JSON",
                '{"id": 0, "hyp": [7]}': "hyp is not text",
                '{"id": 0, "hyp": []}': "the record has no hypotheses",
                '{"id": 0, "text": {}, "qe": 1}': "hyp is not text",
                '{"id": 0, "qe": 1}': "no hypotheses among the fields qe",
                '{"id": 0, "hyp": "a", "src": 1}': "src is not text",
                '{"id": 0, "hyp": "a", "scores": [0]}': "scores is not a finite number",
                '{"id": 0, "hyp": "a", "qe": Infinity}': "qe is not a finite number",
                '{"id": 0, "hyp": "a", "scores": {"qe": 1}, "qe": 1}': "a feature appears twice",
                '{"id": 7, "hyp": "a", "src": "der Hund"}': "two sources for one sentence: das Haus and der Hund",
                '{"id": 0, "hyp": "a", "scores": {"x y": 1}}': "name with a space",
                '{"id": 0, "hyp": "\\ud800"}': "surrogates",
                "[]": "the record has no hypotheses",
                "0": "not a JSON object",
            }.items()
        ),
        (
            FIRST + '{"id": 8, "hyp": "a"}\n' + FIRST,
            None,
            3,
            r"continues after another began[\s\S]*jq -cs 'sort_by\(\.id\)\[\]'",
        ),
        ("H-1\t-1\ta\nD-2\t-1\tb\n", None, 2, "D-2 without its H-2"),
        ("S-1\ta\nH-1\t-inf\ta\n", None, 2, "finite"),
        ("S-0\ta\nH-0\t-1\ta\nS-0\tb\n", None, 3, "two sources for one sentence: a and b"),
        ("a\nb\nc\nd\n", 3, 4, "4 lines are not a multiple of 3"),
    ],
)
def test_lines_of_other_forms_that_are_refused_are_named(written, text, size, line, words):
    nbest = NbestFile(written(text), size=size)
    with pytest.raises(InputError, match=f"list:{line}: (?s:.*)({words})"):
        list(nbest.lists())
    assert len(check_nbest(nbest).errors) == 1


def test_numbers_beside_the_words_are_features(written, caplog):
    caplog.set_level("INFO")
    line = '{"qe": 0.5, "id": 0, "hyp": "a", "scores": {"lm": -1}, "n": 3, "score": -2, "list": [1], "text": "0.5"}\n'
    assert shown(NbestFile(written(line))) == [[(0, "a", -2, {"lm": -1, "qe": 0.5, "n": 3})]]
    assert "fields that are not scores are ignored: list, text" in caplog.text


@pytest.mark.parametrize("text", [JSONL, MARIAN])
def test_a_byte_order_mark_is_no_part_of_a_list(written, text):
    marked, plain = NbestFile(written("\ufeff" + text, "marked")), NbestFile(written(text))
    assert list(marked.lists()) == list(plain.lists())


def test_sources_of_one_sentence_may_differ_in_how_they_are_written(written):
    sources = ["Das ist's, Köln!", "das ist &apos;s , kö@@ ln !", "<unk> ist's"]
    lines = [f'{{"id": 0, "src": "{source}", "hyp": "h{place}"}}\n' for place, source in enumerate(sources)]
    ((first, *_),) = NbestFile(written("".join(lines))).lists()
    assert first.source == sources[0]


def test_columns_made_elsewhere(written):
    path, comet = written(JSONL), written("0.5\n-1e-2\n3\n", "comet")
    nbest = NbestFile(path, added=(f"comet={comet}",))
    arrays = nbest_arrays(nbest.lists())
    assert arrays.names == ("lm", "qe", "comet")
    assert arrays.values_V.reshape(3, 3)[:, 2].tolist() == [0.5, -0.01, 3]
    assert check_nbest(nbest).errors == []
    for text, line, words in (
        ("1\n2\n", 3, "2 lines"),
        ("1\n2\n3\n4\n", 4, "more than 3 lines"),
        ("1\nnan\n3\n", 2, "nan"),
    ):
        with pytest.raises(InputError, match=f"other:{line}: (?s:.*){words}"):
            list(NbestFile(path, added=(f"x={written(text, 'other')}",)).lists())
    with pytest.raises(InputError, match="already has"):
        list(NbestFile(path, added=(f"lm={comet}",)).lists())
    with pytest.raises(InputError, match="needs a name of its own"):
        NbestFile(path, added=(f"a b={comet}",))


def test_columns_belong_to_the_list_with_its_duplicates(written, caplog):
    path, column = written("a\nb\na\nc\nc\nc\n"), written("1\n2\n3\n4\n5\n6\n", "x")
    caplog.set_level("INFO")
    file = NbestFile(path, size=3, duplicates="drop", added=(f"x={column}",))
    expected = [[("a", [1]), ("b", [2])], [("c", [4])]]
    for _ in range(2):
        assert [[(h.text, h.values) for h in group] for group in file.lists()] == expected
    assert caplog.text.count("dropped 3 hypotheses with the same words as others") == 1
    assert [len(group) for group in NbestFile(path, size=3).lists()] == [3, 3]


def test_lists_of_several_systems(written):
    first = written("0 ||| a ||| lm= -1 tm= 1 2 ||| -1\n0 ||| b ||| lm= -3 tm= 0 4 rare= 1 ||| -2\n")
    other = written('{"id": 0, "src": "s", "hyp": "b", "scores": {"p": -5}}\n{"id": 0, "hyp": "c"}\n', "o")
    (group,) = NbestFile(first, others=(f"o={other}",)).lists()
    a, b, c = (dict(zip(nbest_arrays([[h]]).names, h.values, strict=True)) for h in group)
    # Lines are of the first list: what it lacks stands where the sentence begins there.
    assert [(h.text, h.line, h.total, h.source) for h in group] == [
        ("a", 1, None, "s"), ("b", 2, None, "s"), ("c", 1, None, "s")
    ]  # fmt: skip
    assert a == {
        "lm": -1, "tm_0": 1, "tm_1": 2, "total": -1, "has": 1, "o.has": 0, "systems": 1, "reciprocal_ranks": 1,
    }  # fmt: skip
    assert b == {
        "lm": -3, "tm_0": 0, "tm_1": 4, "rare": 1, "total": -2, "has": 1, "o.p": -5, "o.has": 1, "systems": 2,
        "reciprocal_ranks": 1.5,
    }  # fmt: skip
    assert (c["lm"], c["tm_0"], c["tm_1"], c["total"], c["has"]) == (-3, 0, 2, -2, 0)
    more = written(first.read_text() + "1 ||| a ||| lm= -1 tm= 1 2 ||| -1\n", "more")
    another = written('{"id": 0, "src": "t", "hyp": "b"}\n', "another")
    for nbest, words in (
        (NbestFile(more, others=(f"o={other}",)), "sentence 1, which o lacks"),
        (
            NbestFile(first, others=(f"o={more}",)),
            rf"more:3: a sentence that the first list lacks\n.*sentence 1, which {first}",
        ),
        (
            NbestFile(first, others=(f"o={other}", f"p={another}")),
            "another:1: a source that differs from that in the lists before",
        ),
    ):
        with pytest.raises(InputError, match=words):
            list(nbest.lists())


@pytest.mark.parametrize(("text", "told"), [(FAIRSEQ, False), ("0 ||| a ||| ||| 1\nb\n", True)])
def test_where_the_first_line_does_not_tell_the_form_the_keys_are_named(written, text, told):
    with pytest.raises(InputError) as caught:
        list(NbestFile(written(text)).lists())
    assert [key in str(caught.value.remedy) for key in ("nbest_format=fairseq", "nbest_size=N")] == [not told] * 2
