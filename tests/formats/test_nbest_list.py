"""N-best lists are read in every toolkit's style, ill-formed lines are refused with their number."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.formats.nbest_list import (
    UNNUMBERED,
    FeatureParser,
    Hypothesis,
    Layout,
    by_sentence,
    format_hypothesis,
    iterate_hypotheses,
    parse_hypothesis,
    write_nbest,
)

STYLES = {
    "moses": "3 ||| a b ||| LM0= -1.5 TM0= 1 -2e-3 ||| -4.5 ||| 0-1=0 2=1 ||| 0-0 2-1",
    "old moses": "3||| a b  ||| LM0: -1.5 TM0: 1 -2e-3 ||| -4.5",
    "phrasal": "3 ||| a b ||| LM0: -1.5E0 TM0: 1 -2E-3 ",
    "marked": "3 ||| a |0-1| b |2-2|  ||| LM0= -1.5 TM0= 1 -2e-3 ||| -4.5",
    "soft": "3 ||| a b ||| 0.7,0.3 1e-05,0.9 ||| LM0= -1.5 TM0= 1 -2e-3 ||| -4.5",
}


def named_values(hypothesis: Hypothesis) -> dict[str, list[float]]:
    """The values of each feature; as many as the layout says, and no more."""
    values = iter(hypothesis.values)
    named = {name: [next(values) for _ in range(count)] for name, count in hypothesis.layout}
    assert next(values, None) is None
    return named


@pytest.mark.parametrize("style", STYLES)
def test_styles_say_the_same(style: str) -> None:
    read = parse_hypothesis(STYLES[style], 1, FeatureParser())
    assert (read.sentence, read.text) == (3, "a b")
    assert named_values(read) == {"LM0": [-1.5], "TM0": [1, -0.002]}
    assert read.total == (None if style == "phrasal" else -4.5)


def test_glued_and_bare_features() -> None:
    glued = parse_hypothesis("0 ||| a ||| lm_0=-1 tm=glue=2.5 ||| -3", 1, FeatureParser())
    assert named_values(glued) == {"lm_0": [-1], "tm=glue": [2.5]}
    assert named_values(parse_hypothesis("0 ||| a ||| -1 2 ||| -3", 1, FeatureParser())) == {"F": [-1, 2]}
    assert parse_hypothesis("0 ||| a ||| ||| -3", 1, FeatureParser()).layout == ()


def test_segmentation_and_links() -> None:
    moses, marked = (parse_hypothesis(STYLES[style], 1, FeatureParser()) for style in ("moses", "marked"))
    assert moses.spans() == marked.spans() == [((0, 2), (0, 1)), ((2, 3), (1, 2))]
    assert moses.links() == [(0, 0), (2, 1)]
    assert marked.links() is None
    odd = parse_hypothesis("0 ||| a\u2028b c |0-0| d |1-1| ||| -1", 1, FeatureParser())
    assert odd.spans() == [((0, 1), (0, 2)), ((1, 2), (2, 3))]
    assert parse_hypothesis(STYLES["old moses"], 1, FeatureParser()).spans() is None


def test_a_list_without_numbers() -> None:
    read = parse_hypothesis('"-22.5 the house"', 4, FeatureParser())
    assert (read.sentence, read.text, read.total) == (UNNUMBERED, "the house", -22.5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 ||| a", "too few fields"),
        ("", "too few fields"),
        ("x ||| a ||| F= 1 ||| 1", "the sentence number is no number: x"),
        ("-1 ||| a ||| F= 1 ||| 1", "the sentence number is no number: -1"),
        ("0 ||| a ||| F= one ||| 1", "not a number: one"),
        ("0 ||| a ||| F= nan ||| 1", "not a finite number: nan"),
        ("0 ||| a ||| F= 1_0 ||| 1", "not a finite number: 1_0"),
        ("0 ||| a ||| F= inf ||| 1", "not a finite number: inf"),
        ("0 ||| a ||| F= 1\t ||| 1", "not a finite number: 1\t"),
        ("0 ||| a ||| F= \u0661 ||| 1", "not a finite number: \u0661"),
        ("0 ||| a ||| F= 1e300 ||| 1", "a number out of range: 1e300 is beyond 3.4e+38"),
        ("0 ||| a ||| F= 1 ||| -1e39", "a number out of range: -1e39 is beyond 3.4e+38"),
        (f"1{'0' * 30} ||| a ||| F= 1 ||| 1", f"the sentence number is out of range: 1{'0' * 30}"),
        (f"{'1' * 5000} ||| a ||| F= 1 ||| 1", f"the sentence number is out of range: {'1' * 40}… (5000 characters)"),
        ("0 ||| a ||| F= 1 ||| high", "not a number: high"),
        ("0 ||| a ||| F= 1 ||| nan", "not a finite number: nan"),
        ("0 ||| a ||| F= G= 1 ||| 1", "a feature without a value: F"),
        ("0 ||| a ||| F= 1 F= 2 ||| 1", "a feature stands twice: F"),
        ("0 ||| a ||| F=1 2 ||| 1", "a value without a name: 2"),
        ("0 ||| a ||| b ||| F= 1 ||| 1", "||| inside the text"),
        ("0 ||| a ||| 3 ||| F= 1 ||| 1", "||| inside the text"),
    ],
)
def test_ill_formed_lines(line: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.nbest"
    path.write_text(f"0 ||| fine ||| F= 1 ||| 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        list(iterate_hypotheses(path))
    assert caught.value.line == 2
    assert caught.value.message == words


NAME = st.text("abc_<>:|,=~é", min_size=1, max_size=4).filter(lambda name: "|||" not in name)
VALUE = st.floats(-3.4e38, 3.4e38)
LAYOUT = st.lists(st.tuples(NAME, st.lists(VALUE, min_size=1, max_size=3)), min_size=1, unique_by=lambda pair: pair[0])


@given(st.lists(LAYOUT, min_size=1, max_size=6), st.booleans())
def test_what_is_written_spaced_is_read(lists: list[list[tuple[str, list[float]]]], repeat: bool) -> None:
    parser = FeatureParser()
    for named in [x for features in lists for x in ([features] * 3 if repeat else [features])]:
        field = " ".join(f"{name}= " + " ".join(map(repr, values)) for name, values in named)
        layout: Layout = tuple((name, len(values)) for name, values in named)
        assert parser.parse(field) == (layout, [value for _, values in named for value in values])


def test_a_pattern_met_before_does_not_hide_faults() -> None:
    parser = FeatureParser()
    for _ in range(3):
        parser.parse("a= 1 b= 2 3")
    assert parser.parse("a= 1 2 b= 3") == ((("a", 2), ("b", 1)), [1, 2, 3])
    for field in ("a= 1 b= 2 c=", "a= 1 b= 2 x", "a= nan b= 2 3", "a= 1 b= 2_0 3"):
        with pytest.raises(ValueError):
            parser.parse(field)


def test_sentences_must_stand_together(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("".join(f"{i} ||| a ||| F= 1 ||| 1\n" for i in (2, 2, 0, 5, 0)))
    groups = by_sentence(iterate_hypotheses(path), path)
    assert [len(next(groups)), len(next(groups))] == [2, 1]
    with pytest.raises(InputError, match="came before") as caught:
        list(groups)
    assert caught.value.line == 5


def test_written_fields_stay(tmp_path: Path) -> None:
    path = tmp_path / "list.gz"
    lines = [STYLES["moses"], STYLES["marked"].replace("  ", " ")]
    read = [parse_hypothesis(line, number, FeatureParser()) for number, line in enumerate(lines, start=1)]
    write_nbest(path, read)
    assert gzip.decompress(path.read_bytes()).decode().splitlines() == lines
    assert list(iterate_hypotheses(path)) == read
    changed = parse_hypothesis(STYLES["phrasal"], 1, FeatureParser()).with_total(0.5)
    assert format_hypothesis(changed) == "3 ||| a b ||| LM0: -1.5E0 TM0: 1 -2E-3 ||| 0.5"


FOREIGN = {
    "cdec-cfg-rescore.gold.nbest.gz": (4, 1),
    "cdec-lattice.gold.nbest.gz": (9, 2),
    "joshua-bn-en-hiero.kbest-quoted.gz": (805, 1),
    "joshua-kbest-extraction.nbest.gz": (3126, 1),
    "joshua-phrase-decoder.nbest.gz": (1, 1),
    "marian-ape.nbest.gz": (400, 100),
    "marian-softalign.nbest.gz": (90, 30),
    "marian-wmt16.nbest.gz": (500, 100),
    "moses-mert-example.NBEST.gz": (300, 3),
    "moses-mert-scorer.nbest.gz": (5000, 50),
    "moses-promix.nbest.gz": (100, 1),
    "moses-promix.segments.nbest.gz": (100, 1),
    "phrasal-properSample.nbest.gz": (398, 2),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_lists(name: str, shared_data: Path) -> None:
    read = list(iterate_hypotheses(shared_data / "nbest" / name))
    assert (len(read), len({hypothesis.sentence for hypothesis in read})) == FOREIGN[name]
    assert all(hypothesis.text and "|||" not in hypothesis.text for hypothesis in read)


def test_a_foreign_list_that_is_no_list(shared_data: Path) -> None:
    with pytest.raises(InputError, match="not a number: NotANumber") as caught:
        list(iterate_hypotheses(shared_data / "nbest" / "phrasal-improperFeatures.bad.nbest.gz"))
    assert caught.value.line == 1


def test_a_list_of_moses_with_everything(shared_data: Path) -> None:
    path = shared_data / "moses" / "nbest" / "val.100best.gz"
    first: list[Hypothesis] = next(by_sentence(iterate_hypotheses(path), path))
    for hypothesis in first:
        spans, links = hypothesis.spans(), hypothesis.links()
        assert spans is not None
        assert links is not None
        assert [span.target[0] for span in spans[1:]] == [span.target[1] for span in spans[:-1]]
        assert spans[-1].target[1] == len(hypothesis.text.split())
        assert sum(len(values) for values in named_values(hypothesis).values()) == 14
