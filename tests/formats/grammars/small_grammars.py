"""Small random grammars."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from xlate.formats.grammars.grammar import Gap, Scfg, ScfgRule, Symbol

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
    return ScfgRule(lhs, source, target)


def mixed(draw: st.DrawFn, words: list[str], gaps: list[Gap]) -> tuple[Symbol, ...]:
    """Words with gaps at random places, the gaps in their order."""
    side: list[Symbol] = list(words)
    places = sorted(draw(st.integers(0, len(words))) for _ in gaps)
    for inserted, (place, gap) in enumerate(zip(places, gaps, strict=True)):
        side.insert(place + inserted, gap)
    return tuple(side)


@st.composite
def grammars(draw: st.DrawFn, labels: str = "XY", *, most: int = 8, columns: int = 2) -> Scfg:
    """Grammars of different rules, some with a feature of their own."""
    drawn = draw(st.lists(rules(labels), max_size=most, unique=True))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = tuple(f"PhraseModel_{column}" for column in range(columns))
    few = draw(st.lists(st.integers(0, max(len(drawn) // 2 - 1, 0)), unique=True, max_size=len(drawn) // 3))
    sparse = {b: {"Own": float(values.normal())} for b in few}
    return Scfg(drawn, names, values.normal(size=(len(drawn), columns)), sparse)


def same(one: Scfg, two: Scfg) -> bool:
    """Whether two grammars hold the same rules with the same features, in the same order."""
    return one.rules == two.rules and all(one.features(b) == two.features(b) for b in range(len(one)))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
