"""The sparse features that a run gave a weight, the families they are of, and those that are asked for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xlate.errors import InputError
from xlate.scoring.weights import WeightsFile


class Learned(NamedTuple):
    """A sparse feature of a weight set: its id there, family, name and weight, which is not 0."""

    set_name: str
    feature: int
    family: str
    name: str
    weight: float


def learned_features(weights: WeightsFile) -> list[Learned]:
    """The sparse features of all sets whose weight is not 0."""
    found: list[Learned] = []
    for name, stored in weights.features.items():
        values_A = weights.sets[name].sparse_F[stored.ids_A]
        ids = stored.ids_A[values_A != 0].tolist()
        found += [Learned(name, i, *feature) for i, feature in zip(ids, weights.learned(name), strict=True)]
    return found


def of_families(features: Sequence[Learned], asked: str | None, known: Sequence[str]) -> list[Learned]:
    """The features of the families that are asked for, all without a question.

    A family is named by its whole name, such as `reordering:source_first:top80`, or by some of its parts in a row, such
    as `reordering`, `source_first` or `source_first:top80`.

    Raises:
        InputError: no family of the run is so named; `known` are all it has.
    """
    if asked is None:
        return list(features)
    named = {family for family in known if f":{asked}:" in f":{family}:"}
    if not named:
        parts = list(dict.fromkeys(part for family in known for part in family.split(":")))
        near = difflib.get_close_matches(asked, [*parts, *known], n=1)
        raise InputError(
            "the run has no such family of sparse features",
            seen=f"family={asked}",
            expected=", ".join(parts) if parts else "no family: the run has no sparse features",
            remedy=f"did you mean family={near[0]}?" if near else None,
        )
    return [feature for feature in features if feature.family in named]


def families_of(weights: WeightsFile) -> list[str]:
    """The families of sparse features of all sets, those without any weight too, each once."""
    return list(dict.fromkeys(family for stored in weights.features.values() for family, _ in stored.sizes))


class FamilySummary(NamedTuple):
    """How the weights of a family are spread."""

    family: str
    weights: int
    above_0: int
    mass: float
    largest: float


def summaries(features: Sequence[Learned]) -> list[FamilySummary]:
    """Of each family, those with the largest sum of absolute weights first."""
    weights: dict[str, list[float]] = {}
    for feature in features:
        weights.setdefault(feature.family, []).append(feature.weight)
    rows = []
    for family, values in weights.items():
        values_A = np.array(values)
        size_A = np.abs(values_A)
        rows.append(
            FamilySummary(family, len(values), int((values_A > 0).sum()), float(size_A.sum()), float(size_A.max()))
        )
    return sorted(rows, key=lambda row: -row.mass)
