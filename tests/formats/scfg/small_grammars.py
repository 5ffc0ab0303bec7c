"""Small random grammars."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, Symbol

SOURCE_WORDS, TARGET_WORDS = "ab", "uvw"


@st.composite
def rules(draw: st.DrawFn, labels: str = "XY", *, most_words: int = 3) -> ScfgRule:
    """Rules with up to two non-terminals; none that turns X alone into something, or Y into Y."""
    lhs = draw(st.sampled_from(labels))
    gaps = [Gap(draw(st.sampled_from(labels)), number) for number in range(1, draw(st.integers(0, 2)) + 1)]
    words = draw(st.lists(st.sampled_from(SOURCE_WORDS), min_size=not gaps, max_size=most_words))
    source = mixed(draw, words, gaps)
    target = mixed(
        draw,
        draw(st.lists(st.sampled_from(TARGET_WORDS), min_size=not gaps, max_size=most_words)),
        draw(st.permutations(gaps)),
    )
    if len(source) == 1 and gaps and not (lhs == "Y" and gaps[0].label == "X"):
        source = (*source, "a")
    words_of = [[place for place, symbol in enumerate(side) if isinstance(symbol, str)] for side in (source, target)]
    places = [(s, t) for s in words_of[0] for t in words_of[1]]
    links = draw(st.lists(st.sampled_from(places), max_size=2, unique=True)) if places else []
    return ScfgRule(lhs, source, target, tuple(sorted(links, key=lambda link: link[::-1])))


def mixed(draw: st.DrawFn, words: list[str], gaps: list[Gap]) -> tuple[Symbol, ...]:
    """Words with gaps at random places, the gaps in their order."""
    side: list[Symbol] = list(words)
    places = sorted(draw(st.integers(0, len(words))) for _ in gaps)
    for inserted, (place, gap) in enumerate(zip(places, gaps, strict=True)):
        side.insert(place + inserted, gap)
    return tuple(side)


@st.composite
def grammars(draw: st.DrawFn, labels: str = "XY", *, most: int = 8, columns: int = 2) -> Scfg:
    """Grammars of different rules, some with a feature of their own; some know their counts."""
    drawn = draw(st.lists(rules(labels), max_size=most, unique_by=lambda rule: rule[:3]))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = tuple(f"PhraseModel_{column}" for column in range(columns))
    few = draw(st.lists(st.integers(0, max(len(drawn) // 2 - 1, 0)), unique=True, max_size=len(drawn) // 3))
    sparse = {b: {"Own": float(values.normal())} for b in few}
    count_B = values.integers(1, 9, len(drawn)).astype(float) if draw(st.booleans()) else None
    return Scfg(drawn, names, values.normal(size=(len(drawn), columns)), sparse, count_B)


def same(one: Scfg, two: Scfg) -> bool:
    """Whether two grammars hold the same rules with the same features and counts, in the same order."""
    counts = [None if each.count_B is None or not len(each) else each.count_B.tolist() for each in (one, two)]
    return (
        one.rules == two.rules
        and counts[0] == counts[1]
        and all(one.features(b) == two.features(b) for b in range(len(one)))
    )
