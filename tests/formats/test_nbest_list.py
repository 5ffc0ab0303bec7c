"""N-best lists are read in every toolkit's style, ill-formed lines are refused with their number."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.formats.nbest_list import UNNUMBERED, FeatureParser, Style, by_sentence, iterate_hypotheses, write_nbest
from xlate.text.lines import read_lines, write_lines

STYLES = {
    "moses": "3 ||| a b ||| LM0= -1.5 TM0= 1 -2e-3 ||| -4.5 ||| 0-1=0 2=1 ||| 0-0 2-1",
    "old moses": "3||| a b  ||| LM0: -1.5 TM0: 1 -2e-3 ||| -4.5",
    "phrasal": "3 ||| a b ||| LM0: -1.5E0 TM0: 1 -2E-3 ",
    "marked": "3 ||| a |0-1| b |2-2|  ||| LM0= -1.5 TM0= 1 -2e-3 ||| -4.5",
    "soft": "3 ||| a b ||| 0.7,0.3 1e-05,0.9 ||| LM0= -1.5 TM0= 1 -2e-3 ||| -4.5",
}


def read(line):
    return Style().line(line, 1)[0]


def named_values(hypothesis):
    """The values of each feature; as many as the layout says, and no more."""
    values = iter(hypothesis.values)
    named = {name: [next(values) for _ in range(count)] for name, count in hypothesis.layout}
    assert next(values, None) is None
    return named


@pytest.mark.parametrize("style", STYLES)
def test_styles_say_the_same(style):
    hypothesis = read(STYLES[style])
    assert (hypothesis.sentence, hypothesis.text) == (3, "a b")
    assert named_values(hypothesis) == {"LM0": [-1.5], "TM0": [1, -0.002]}
    assert hypothesis.total == (None if style == "phrasal" else -4.5)


@pytest.mark.parametrize(
    ("line", "named"),
    {
        "0 ||| a ||| lm_0=-1 tm=glue=2.5 ||| -3": {"lm_0": [-1], "tm=glue": [2.5]},
        "0 ||| a ||| -1 2 ||| -3": {"F": [-1, 2]},
        "0 ||| a ||| ||| -3": {},
        '"-3 a"': {},
    }.items(),
)
def test_glued_bare_and_no_features(line, named):
    hypothesis = read(line)
    assert (named_values(hypothesis), hypothesis.text, hypothesis.total) == (named, "a", -3)
    assert hypothesis.sentence == (UNNUMBERED if line[0] == '"' else 0)


@pytest.mark.parametrize(
    ("line", "words"),
    {
        "0 ||| a": "too few fields",
        "x ||| a ||| F= 1 ||| 1": "the sentence number is not a number: x",
        "0 ||| a ||| F= one ||| 1": "not a number: one",
        "0 ||| a ||| F= 1\t ||| 1": "not a finite number: 1\t",
        "0 ||| a ||| F= 1e300 ||| 1": "a number out of range: 1e300 is beyond 3.4e+38",
        "0 ||| a ||| F= 1 ||| -1e39": "a number out of range: -1e39 is beyond 3.4e+38",
        f"{'1' * 5000} ||| a ||| F= 1 ||| 1": f"the sentence number is out of range: {'1' * 40}… (5000 characters)",
        "0 ||| a ||| F= 1 ||| high": "not a number: high",
        "0 ||| a ||| F= G= 1 ||| 1": "a feature without a value: F",
        "0 ||| a ||| F= 1 F= 2 ||| 1": "a feature appears twice: F",
        "0 ||| a ||| F=1 2 ||| 1": "a value without a name: 2",
        "0 ||| a ||| b ||| F= 1 ||| 1": "||| inside the text",
    }.items(),
)
def test_ill_formed_lines(line, words, tmp_path):
    path = tmp_path / "bad.nbest"
    path.write_text(f"0 ||| fine ||| F= 1 ||| 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        list(iterate_hypotheses(path))
    assert (caught.value.line, caught.value.message) == (2, words)


NAME = st.text("abc_<>:|,=~é", min_size=1, max_size=4).filter(lambda name: "|||" not in name)
VALUE = st.floats(-3.4e38, 3.4e38)
LAYOUT = st.lists(st.tuples(NAME, st.lists(VALUE, min_size=1, max_size=3)), min_size=1, unique_by=lambda pair: pair[0])


@settings(max_examples=40)
@given(st.lists(LAYOUT, min_size=1, max_size=6), st.booleans())
def test_what_is_written_spaced_is_read(lists, repeat):
    parser = FeatureParser()
    for named in [x for features in lists for x in ([features] * 3 if repeat else [features])]:
        field = " ".join(f"{name}= " + " ".join(map(repr, values)) for name, values in named)
        layout = tuple((name, len(values)) for name, values in named)
        assert parser.parse(field) == (layout, [value for _, values in named for value in values])


def test_a_pattern_met_before_does_not_hide_faults():
    parser = FeatureParser()
    for _ in range(3):
        parser.parse("a= 1 b= 2 3")
    assert parser.parse("a= 1 2 b= 3") == ((("a", 2), ("b", 1)), [1, 2, 3])
    for field in ("a= 1 b= 2 c=", "a= 1 b= 2 x", "a= nan b= 2 3", "a= 1 b= 2_0 3"):
        with pytest.raises(ValueError):
            parser.parse(field)


def test_sentences_must_stand_together(tmp_path):
    path = tmp_path / "list"
    write_lines(path, [f"{i} ||| a ||| F= 1 ||| 1" for i in (2, 2, 0, 5, 0)])
    groups = by_sentence(iterate_hypotheses(path), path)
    assert [len(next(groups)), len(next(groups))] == [2, 1]
    with pytest.raises(InputError, match=":5: a sentence continues after another"):
        list(groups)


def test_written_fields_stay(tmp_path):
    path = tmp_path / "list.gz"
    lines = [STYLES["moses"], STYLES["marked"].replace("  ", " ")]
    changed = read(STYLES["phrasal"]).with_total(0.5)
    written = [*(Style().line(line, number)[0] for number, line in enumerate(lines, 1)), changed]
    write_nbest(path, written)
    assert read_lines(path) == [*lines, "3 ||| a b ||| LM0: -1.5E0 TM0: 1 -2E-3 ||| 0.5"]
    assert list(iterate_hypotheses(path))[:2] == written[:2]
