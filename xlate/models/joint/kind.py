"""Runs of the joint model: what they can do, and the model that one has learned, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyArray, AnyInts, Bools, Bytes, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_in_rows, row_numbers
from xlate.config.stored import config_of_run
from xlate.errors import refuse_if
from xlate.models.kind import Kind
from xlate.models.run_files import weights_of, weights_path
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText, Vocabulary

KIND = "joint"
# Arrays of a weights file besides the parameters of the network: the words that it knows, and how frequent they are.
SOURCE_WORDS, TARGET_WORDS, SHARES = "source_words", "target_words", "shares"


class Joint(Kind):
    """Predicts target words, and translates nothing on its own."""

    name = KIND
    predicts_words = True
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
        name = config_of_run(run).model.name
        refuse_if(config_of_run(run).model.kind != KIND, "not a run of a joint model", name, "model=joint", file=run)
        weights_path(Path(run))


def affiliations(offsets_S1: AnyInts, links: Links) -> Ints:
    """The source position that each of the T target words of S sentences belongs to, (T,).

    It is the middle one of the linked positions, rounded down. A word without a link belongs to the position of the
    nearest linked word, of two the one on the right; if no word of a sentence has a link, to position 0 (Devlin et al.
    2014, section 2).
    """
    words, place_T, row_T = int(offsets_S1[-1]), np.arange(offsets_S1[-1]), row_numbers(offsets_S1)
    target_L = np.asarray(offsets_S1)[row_numbers(links.offsets_S1)] + links.target_L
    source_L = np.append(links.source_L[np.lexsort((links.source_L, target_L))], 0).astype(np.int64)
    count_T = np.bincount(target_L, minlength=words)
    # Farther away than any word.
    far, linked_T = 2 * words + 1, count_T > 0
    before_T = np.maximum.accumulate(np.where(linked_T, place_T, -far))
    before_T[before_T < np.asarray(offsets_S1)[row_T]] = -far
    after_T = np.minimum.accumulate(np.where(linked_T, place_T, far)[::-1])[::-1].copy()
    after_T[after_T >= np.asarray(offsets_S1)[row_T + 1]] = far
    nearest_T = np.where(after_T - place_T <= place_T - before_T, after_T, before_T)
    middle_T = np.cumsum(count_T) - count_T + (count_T - 1) // 2
    return source_L[np.append(middle_T, len(source_L) - 1)[np.minimum(nearest_T, words)]]


def padded(text: EncodedText, before: int, after: int) -> tuple[Ints32, Ints]:
    """The words of S sentences, each behind `before` `<s>` and followed by `after` `</s>`, and where it begins, (S,)."""
    lengths_S = np.diff(text.offsets_S1)
    begin_S = offsets_of(lengths_S + before + after)[:-1] + before
    ids_P = np.full(len(text.ids_T) + len(text) * (before + after), BEGIN_ID, np.int32)
    ids_P[np.repeat(begin_S, lengths_S) + places_in_rows(text.offsets_S1)] = text.ids_T
    ids_P[(begin_S + lengths_S)[:, None] + np.arange(after)] = END_ID
    return ids_P, begin_S


@dataclass(frozen=True)
class JointModel:
    """A learned model over V target words: M words of history, a window of W source words, H hidden units.

    Attributes:
        source, target: the words that it knows; all others are `<unk>`.
        window: the number of source words on each side of the one that a word is affiliated with.
        arrays: the parameters by name, as in `JointNetwork`, and the shares of the target words in the text.
    """

    source: Vocabulary
    target: Vocabulary
    window: int
    arrays: Mapping[str, AnyArray]

    @cached_property
    def _layers_DH(self) -> AnyArray:
        """The first layer's weights for each source position, and then for each word of the history, (W + M, D, H)."""
        weight = self.arrays["hidden.weight"]
        return weight.T.reshape(-1, self.arrays["source.weight"].shape[1], len(weight))

    @cached_property
    def _source(self) -> tuple[AnyArray, Bools]:
        """What each source word adds to the first layer at each position, (V, W, H), and which words are computed."""
        words = len(self.source)
        return np.empty((words, 2 * self.window + 1, self._layers_DH.shape[2]), np.float32), np.zeros(words, np.bool_)

    @cached_property
    def history_MVH(self) -> AnyArray:
        """What the word at each distance, from 1 to M, adds to the first layer."""
        return np.matmul(self.arrays["target.weight"], self._layers_DH[2 * self.window + 1 :])

    @cached_property
    def unknown_MH(self) -> AnyArray:
        """The mean of that over the words of the text."""
        return np.einsum("v,mvh->mh", self.arrays[SHARES], self.history_MVH)

    def source_nH(self, ids_n: Ints32) -> Floats:
        """What the windows around n source words, and around the end, add to the first layer, (n + 1, H)."""
        ids_P, _ = padded(EncodedText.from_ids([ids_n]), self.window, self.window + 1)
        words, (vectors_VWH, known_V) = np.unique(ids_P), self._source
        for word in words[~known_V[words]]:
            vectors_VWH[word] = self.arrays["source.weight"][word] @ self._layers_DH[: vectors_VWH.shape[1]]
            known_V[word] = True
        positions_W = np.arange(vectors_VWH.shape[1])
        windows_nW = ids_P[np.arange(len(ids_n) + 1)[:, None] + positions_W]
        return vectors_VWH[windows_nW, positions_W].sum(axis=1, dtype=np.float64) + self.arrays["hidden.bias"]


def stored_words(vocabulary: Vocabulary) -> Bytes:
    """The words of a vocabulary as an array of bytes."""
    return np.frombuffer("\n".join(vocabulary.words).encode(), np.uint8)


def load_joint(run: Path) -> JointModel:
    """The model of a finished run; raises what `weights_of` raises."""
    config, arrays = config_of_run(run), weights_of(run).extra
    source, target = (
        Vocabulary(arrays[side].tobytes().decode().split("\n")[3:]) for side in (SOURCE_WORDS, TARGET_WORDS)
    )
    return JointModel(source, target, config.model.window, arrays)
