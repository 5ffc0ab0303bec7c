"""Structure features: what facts expand to, how ids grow, and what weights of facts sum to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.parts import from_python
from xlate.errors import InputError
from xlate.features.structure import FAMILIES, SIDES, StructureFeatures, StructureTemplates
from xlate.features.word_values import affixes, digit_shapes, every_word, word_classes
from xlate.kernels.features import structure

SOURCE = ["<unk>", "<s>", "</s>", "violated", "2007/6", "das"]
TARGET = ["<unk>", "<s>", "</s>", "haus", "12", "gehoben", "ab"]


def templates(families: tuple[str, ...] = FAMILIES) -> StructureTemplates:
    source, target = (
        (every_word(words), affixes(words, "prefix", 4), word_classes("class", words, {words[3]: "7", words[5]: "8"}))
        for words in (SOURCE, TARGET)
    )
    return StructureTemplates(families, (*source, digit_shapes(SOURCE)), target)


def expanded(given: StructureTemplates, fact: tuple[int, ...]) -> list[str]:
    """The names of a fact's features, from the definition."""
    family, *words = fact
    name = FAMILIES[family]
    if name not in given.families:
        return []
    sides = SIDES.get(name, ("source", "target")) * 2
    names = []
    sizes = [len(given.source if side == "source" else given.target) for side in sides[:2]]
    for first, second in itertools.product(*map(range, sizes)):
        kinds = [
            (given.source if side == "source" else given.target)[kind]
            for side, kind in zip(sides, (first, second) * 2, strict=True)
        ]
        used = kinds if name == "pair_bigram" else kinds[:2]
        values = [int(kind.value_V[word]) for kind, word in zip(used, words, strict=False)]
        if min(values) >= 0:
            shown = ",".join(kind.labels[value] for kind, value in zip(used, values, strict=True))
            names.append(f"{name}:{kinds[0].name},{kinds[1].name}({shown})")
    return names


def random_facts(rng: np.random.Generator, size: int) -> np.ndarray:
    facts = np.zeros((size, 5), np.int32)
    facts[:, 0] = rng.integers(0, len(FAMILIES), size)
    facts[:, 1:] = rng.integers(0, len(SOURCE), (size, 4))
    facts[facts[:, 0] != FAMILIES.index("pair_bigram"), 3:] = 0
    return facts


@pytest.mark.parametrize("families", [FAMILIES, ("pair_bigram", "insertion")])
def test_facts_have_the_features_of_the_definition(families):
    features, facts = StructureFeatures(templates(families)), random_facts(np.random.default_rng(1), 400)
    offsets, ids = features.of_units(facts)
    names = list(features.names(np.arange(len(features))))
    assert len(set(names)) == len(names) > 50
    for row, fact in enumerate(facts.tolist()):
        found = [names[i] for i in ids[offsets[row] : offsets[row + 1]]]
        assert sorted(found) == sorted(expanded(features.templates, tuple(fact)))


def test_ids_stay_as_the_index_grows_and_unknown_ones_are_left_out():
    rng = np.random.default_rng(2)
    features, facts = StructureFeatures(templates()), random_facts(rng, 600)
    first = features.of_units(facts[:50])
    known = len(features)
    assert len(features.of_units(facts, add=False)[1]) < len(features.of_units(facts)[1])
    assert len(features) > known
    for one, other in zip(first, features.of_units(facts[:50], add=False), strict=True):
        assert one.tolist() == other.tolist()
    other = StructureFeatures(templates())
    other.extended(features.described[:known])
    other.extended(features.described)
    assert other.described.tolist() == features.described.tolist()
    assert other.of_units(facts, add=False)[1].tolist() == features.of_units(facts, add=False)[1].tolist()


def test_a_fact_scores_the_sum_of_its_weights_and_newer_features_nothing():
    features, facts = StructureFeatures(templates()), random_facts(np.random.default_rng(4), 150)
    offsets, ids = features.of_units(facts)
    sparse_F = np.arange(1.0, len(features) / 2)
    known, fact_score = features.weighted(sparse_F), from_python(structure.fact_score)
    weights_F = np.append(sparse_F, np.zeros(len(features)))
    # Twice, since scores are remembered.
    for row, fact in [*enumerate(facts.tolist())] * 2:
        expected = weights_F[ids[offsets[row] : offsets[row + 1]]].sum()
        assert fact_score(known, fact[0], tuple(fact[1:])) == pytest.approx(expected)


def test_words_by_their_letters():
    prefix, suffix, digits = affixes(SOURCE, "prefix", 4), affixes(SOURCE, "suffix", 4), digit_shapes(SOURCE)
    shown = [[None if v < 0 else kind.labels[v] for v in kind.value_V.tolist()] for kind in (prefix, suffix, digits)]
    assert shown[0] == [None, None, None, "viol+", "2007+", None]
    assert shown[1] == [None, None, None, "+ated", "+07/6", None]
    assert shown[2] == [None, None, None, None, "@@@@/@", None]


def test_bad_templates_are_refused():
    given = templates()
    sides = given.source, given.target
    for families, source, target in (
        (("no_such",), *sides),
        (("insertion", "insertion"), *sides),
        (FAMILIES, given.source, ()),
        (FAMILIES, (), given.target),
    ):
        with pytest.raises(InputError):
            StructureTemplates(families, source, target)
    described = np.array([[0, 0, 0, 3, 3, 0, 0]] * 2, np.int32)
    with pytest.raises(InputError):
        StructureFeatures(given, described)
    with pytest.raises(InputError):
        StructureFeatures(templates(("insertion",)), described[:1])
