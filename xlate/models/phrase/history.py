"""Features with history of the phrase model: their definition, and those of a model as the compiled loops take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.array_types import Floats
from xlate.arrays.ragged import offsets_of
from xlate.compiled import cfunc
from xlate.errors import refuse_if
from xlate.kernels.search.phrase_moves import AFTER, FEATURE, MOVE, Histories

if TYPE_CHECKING:
    from xlate.models.phrase.model import PhraseModel
    from xlate.models.phrase.options import PlacedPhrases

KNOWN: dict[str, HistoryFeature] = {}
"""Features by name: each is added when its module is imported."""


@dataclass(frozen=True, eq=False)
class HistoryFeature:
    """A float of derivations that is a sum over their phrases, each with a state left by the phrases before it.

    `move` is plain Python that numba can compile, called as `value = move(state, option, place, data, after)`:

    - `state`: an integer of 32 bits, what is kept of the phrases before; 0 before the first one. Hypotheses with
      different states are not recombined, so keep no more than the value of a later phrase depends on.
    - `option`: the number of the phrase in `PlacedPhrases`; -1 ends the sentence.
    - `place`: where it is put: `place[BEGIN]` and `place[END]` of its span, `place[END_BEFORE]` of the phrase before,
      and how many words are translated, `place[COVERED]`; these mean nothing at the end of the sentence.
    - `data`: the numbers of the sentence, as `data` of the feature gives them.
    - `after[0]`: receives the state after the phrase, nothing at the end.

    Attributes:
        name: the name of the float.
        data: all that `move` needs, as one array, from a model and O phrases of a sentence, (N,).
        move: see above.
        alone: an estimate of the value of each phrase when nothing is known about the others, (O,); None for 0.
        by_name: whether `model.histories` finds it by its name; false for a feature that is made for each model.

    Raises:
        InputError: another feature has the name.
    """

    name: str
    data: Callable[[PhraseModel, PlacedPhrases], Floats]
    move: Callable[[int, int, Any, Any, Any], float]
    alone: Callable[[PhraseModel, PlacedPhrases], Floats] | None = None
    by_name: bool = True

    def __post_init__(self) -> None:
        """Registers it by its name."""
        refuse_if(
            self.by_name and KNOWN.setdefault(self.name, self) is not self,
            "two features with the same name",
            self.name,
            "another name for one of them",
        )

    @cached_property
    def compiled(self) -> Any:
        """The object that holds the compiled code; its address is valid as long as this feature exists."""
        return cfunc(MOVE, cache=True)(self.move)


def histories_named(names: Sequence[str]) -> tuple[HistoryFeature, ...]:
    """Features by their names.

    Raises:
        InputError: a name is unknown, or occurs twice.
    """
    for name in names:
        known = ", ".join(KNOWN) or "none, unless you import modules with your own"
        refuse_if(
            name not in KNOWN or list(names).count(name) > 1,
            "an unknown or repeated feature with history",
            name,
            f"distinct names from: {known}",
        )
    return tuple(KNOWN[name] for name in names)


def histories_of(
    features: Sequence[HistoryFeature], weights_K: Floats, model: PhraseModel, phrases: PlacedPhrases
) -> Histories:
    """K features over the phrases of a sentence."""
    data = [np.asarray(feature.data(model, phrases), np.float64) for feature in features]
    features_K = np.zeros(len(features), FEATURE)
    features_K["address"] = [feature.compiled.address for feature in features]
    features_K["data"], features_K["weight"] = offsets_of([len(numbers) for numbers in data])[:-1], weights_K
    # One number more, because an empty array has no item to refer to.
    return Histories(features_K, np.concatenate([*data, np.zeros(1)]), np.zeros(AFTER + 1, np.int64))
