"""Features of the words of hypotheses equal those found word by word."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.config.model_schema import RerankConfig
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import Hypothesis
from xlate.models.rerank.lists import text_features

WORDS = st.lists(st.sampled_from(["a", "b", "c", "<s>", "é"]), max_size=6)
LISTS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=3)
CLASSES = {"a": "1", "b": "2", "c": "1"}
LEXICON = {"a": {"x": 0.5, "a": 0.5}, "b": {"b": 0.25, "c": 0.0}}


def grams(words: Sequence[str], order: int) -> list[str]:
    ends = ["<s>", *words, "</s>"]
    found = list(words) if order else []
    for n in range(2, order + 1):
        found += [" ".join(ends[start : start + n]) for start in range(len(ends) - n + 1)]
    return found


def by_definition(chosen: RerankConfig, words: Sequence[str], source: Sequence[str], expected: int) -> list[str]:
    names = [f"ngram={gram}" for gram in grams(words, chosen.ngrams)]
    classes = [CLASSES.get(word, "?") for word in words]
    names += [f"class={gram}" for gram in grams(classes, chosen.class_ngrams)]
    if chosen.length:
        names.append(f"length={max(-8, min(8, len(words) - expected)):+d}")
    for word in words:
        p, place = max(
            ((LEXICON.get(word, {}).get(one, 0), -place) for place, one in enumerate(source)), default=(0, 0)
        )
        if p and chosen.pairs:
            names.append(f"pair={source[-place]}|{word}")
    return names


@settings(max_examples=60, deadline=None)
@given(LISTS, st.integers(0, 4), st.integers(0, 3), st.booleans(), st.booleans(), st.booleans())
def test_names_are_those_of_the_definition(
    lists: list[tuple[list[str], list[list[str]]]], order: int, classes: int, length: bool, pairs: bool, sources: bool
) -> None:
    chosen = RerankConfig(ngrams=order, length=length, class_ngrams=classes, pairs=pairs and sources)
    lexicon = LEXICON if chosen.pairs else None
    rows = [[Hypothesis(1, i, " ".join(words), (), [], None) for words in held] for i, (_, held) in enumerate(lists)]
    names: list[str] = []

    def of(name: str) -> int:
        names.append(name)
        return len(names) - 1

    given_sources = [source for source, _ in lists] if sources else None
    found: list[list[str]] = [[] for _, held in lists for _ in held]
    known: list[list[str]] = [[] for _ in found]
    for kept, words in ((found, None), (known, {"a", "<s>", "1", "2", "?"})):
        for hypothesis_N, number_N in text_features(
            chosen, CLASSES, lexicon, nbest_arrays(rows), given_sources, of, words
        ):
            for hypothesis, number in zip(hypothesis_N.tolist(), number_N.tolist(), strict=True):
                kept[hypothesis].append(names[int(number)])
    wanted = [
        by_definition(chosen, words, source, len(source) if sources else len(held[0]))
        for source, held in lists
        for words in held
    ]
    assert found == wanted
    # Without n-grams of other words, the rest is the same.
    usable = [
        [name for name in row if not {"b", "c", "é"} & set(name.removeprefix("ngram=").split())] for row in wanted
    ]
    assert [[name for name in row if name in kept] for row, kept in zip(known, usable, strict=True)] == usable
