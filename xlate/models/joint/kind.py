"""Runs of the joint model: what they can do, and the model that one has learned, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyArray, AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import row_numbers
from xlate.config.stored import config_of_run
from xlate.errors import refuse_if
from xlate.models.kind import Kind
from xlate.models.run_files import weights_of, weights_path
from xlate.text.vocabulary import BEGIN_ID, END_ID, Vocabulary

KIND = "joint"
# The arrays of a weights file besides the tensors of the network: the words that it knows, one per line.
SOURCE_WORDS, TARGET_WORDS = "source_words", "target_words"


class Joint(Kind):
    """Predicts target words, and translates nothing on its own."""

    name = KIND
    impossible = (
        "a run that predicts target words has no decoder",
        "xlate train model=phrase model.joint=RUN uses what it learned",
    )


def check_joint(run: str | None) -> None:
    """Checks that a run, if there is one, is a finished run of the joint model.

    Raises:
        InputError: it is missing, unfinished, or of another model.
    """
    if run is not None:
        model = config_of_run(run).model
        refuse_if(model.kind != KIND, "not a run of a joint model", model.name, "model=joint", file=run)
        weights_path(Path(run))


def affiliations(offsets_S1: AnyInts, links: Links) -> Ints:
    """The source position that each of the T target words of S sentences belongs to, (T,).

    It is the middle one of the linked positions, rounded down. A word without a link belongs to the position of the
    nearest linked word, of two the one on the right; if no word of a sentence has a link, to position 0 (Devlin et al.
    2014, section 2).
    """
    place_T, row_T = np.arange(offsets_S1[-1]), row_numbers(offsets_S1)
    target_L = np.asarray(offsets_S1)[row_numbers(links.offsets_S1)] + links.target_L
    order_L = np.lexsort((links.source_L, target_L))
    linked_K, first_K, count_K = np.unique(target_L[order_L], return_index=True, return_counts=True)
    if not len(linked_K):
        return np.zeros_like(place_T)
    source_K = links.source_L[order_L][first_K + (count_K - 1) // 2].astype(np.int64)
    # Words of other sentences are farther away than all of the same one.
    spread_T = place_T + row_T * len(row_T)
    behind_T = np.searchsorted(linked_K, place_T)
    sides = np.minimum(behind_T, len(linked_K) - 1), np.maximum(behind_T - 1, 0)
    right_T, left_T = (np.abs(spread_T[linked_K[side_T]] - spread_T) for side_T in sides)
    nearest_T = np.where(right_T <= left_T, *sides)
    return np.where(row_T[linked_K[nearest_T]] == row_T, source_K[nearest_T], 0)


@dataclass(frozen=True, eq=False)
class JointModel:
    """A learned model over V target words: a history of M words, a window of W source words, H hidden units.

    Attributes:
        source, target: the words that it knows; all others are `<unk>`.
        arrays: the tensors of `JointNetwork` by name.
        window: the number of source words on each side of the one that a word is affiliated with.
    """

    source: Vocabulary
    target: Vocabulary
    arrays: Mapping[str, AnyArray]
    window: int

    @cached_property
    def _layers_DH(self) -> AnyArray:
        """The first layer's weights for each word of the window, and then of the history, (W + M, D, H)."""
        weight = self.arrays["hidden.weight"]
        return np.asarray(weight.T.reshape(-1, self.arrays["source.weight"].shape[1], len(weight)))

    @cached_property
    def history_MVH(self) -> AnyArray:
        """What the word at each distance, from 1 to M, adds to the first layer; `</s>` stands for their mean."""
        vectors_MVH: AnyArray = np.matmul(self.arrays["target.weight"], self._layers_DH[2 * self.window + 1 :])
        vectors_MVH[:, END_ID] = np.einsum("v,mvh->mh", np.exp(self.arrays["log_share_V"]), vectors_MVH)
        return vectors_MVH

    def source_nH(self, ids_n: Ints32) -> Floats:
        """What the windows around n source words, and around the end, add to the first layer, (n + 1, H)."""
        words = [BEGIN_ID] * self.window + ids_n.tolist() + [END_ID] * (self.window + 1)
        vectors_PWH = np.stack([self._window_WH(word) for word in words])
        count, sums_nH = len(ids_n) + 1, self.arrays["hidden.bias"].astype(np.float64)
        for place in range(vectors_PWH.shape[1]):
            sums_nH = sums_nH + vectors_PWH[place : place + count, place]
        return sums_nH

    @lru_cache(maxsize=10_000)  # noqa: B019
    def _window_WH(self, word: int) -> AnyArray:
        """What a source word adds at each place of a window."""
        return np.asarray(self.arrays["source.weight"][word] @ self._layers_DH[: 2 * self.window + 1])


def load_joint(run: Path) -> JointModel:
    """The model of a finished run; raises what `weights_of` raises."""
    arrays = weights_of(run).extra
    words = (arrays[side].tobytes().decode().split("\n")[3:] for side in (SOURCE_WORDS, TARGET_WORDS))
    source, target = map(Vocabulary, words)
    return JointModel(source, target, arrays, config_of_run(run).model.window)
