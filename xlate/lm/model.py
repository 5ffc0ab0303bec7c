"""An n-gram model ready for queries: every context a number, every query one or few hash look-ups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.kernels.hashing import HashTable, build_table, find_all
from xlate.kernels.ngram import CONTEXT, SLOT, NgramArrays, ngram_arrays, step, step_all, walk, walk_sentences
from xlate.lm.arpa import ArpaModel
from xlate.text.encoded import EncodedText
from xlate.text.lines import atomic_write
from xlate.text.vocabulary import BEGIN_ID, END_ID, Vocabulary

FORMAT = "xlate n-gram model 2"
LN10 = float(np.log(10.0))
DTYPES = {"slots": SLOT, "tags": np.dtype("u1"), "contexts": CONTEXT}
# What earlier versions wrote, by their format.
EARLIER = "xlate n-gram model 1"
EARLIER_DTYPES = {
    name: np.dtype(kind)
    for name, kind in {
        "keys": "u8", "rows": "i4", "logprob": "f4", "next": "i4", "backoff": "f4", "suffix": "i4"
    }.items()
}  # fmt: skip


class NgramModel:
    """A back-off model as an automaton; a state is one int, the number of the longest context that matters.

    Log probabilities are natural. State 0 is the empty context. Two histories that the model cannot tell apart have the
    same state: a context that no n-gram extends and that has no back-off weight gives way to its suffix.

    Example:
        good: `logprob, state = model.score(model.begin_state, word)`
        bad:  `model.score(model.begin_state, BEGIN_ID)`: `<s>` is where a sentence begins, it is never predicted.
    """

    def __init__(self, vocabulary: Vocabulary, order: int, arrays: NgramArrays) -> None:
        self.vocabulary = vocabulary
        self.order = order
        self.arrays = arrays
        self.empty_state = 0
        self.begin_state = step(arrays, 0, BEGIN_ID)[1]

    @classmethod
    def from_arpa(cls, arpa: ArpaModel) -> NgramModel:
        """Builds the automaton of a back-off model.

        Raises:
            InputError: an n-gram's first words are not an n-gram of the model, or an n-gram stands twice.
        """
        return cls(arpa.vocabulary, arpa.order, _automaton(arpa))

    def score(self, state: int, word: int) -> tuple[float, int]:
        """The natural log probability of a word after a state, and the state behind it."""
        logprob, after = step(self.arrays, state, word)
        return float(logprob), int(after)

    def score_batch(
        self, states_Q: NDArray[np.int32], words_Q: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Q independent queries at once."""
        result: tuple[NDArray[np.float64], NDArray[np.int32]] = step_all(self.arrays, states_Q, words_Q)
        return result

    def score_words(self, state: int, words_T: NDArray[np.int32]) -> tuple[float, int]:
        """The log probability of words one after another, and the last state."""
        total, after = walk(self.arrays, state, words_T)
        return float(total), int(after)

    def sentence_logprob(self, words_T: NDArray[np.int32], *, end: bool = True) -> float:
        """The natural log probability of a sentence between `<s>` and, unless `end` is false, `</s>`."""
        return float(self.sentence_logprobs(EncodedText.from_ids([words_T]), end=end)[0])

    def sentence_logprobs(self, sentences: EncodedText, *, end: bool = True) -> NDArray[np.float64]:
        """`sentence_logprob` of S sentences, shape (S,)."""
        end_word = END_ID if end else -1
        totals: NDArray[np.float64] = walk_sentences(
            self.arrays, self.begin_state, end_word, sentences.ids_T, sentences.offsets_S1
        )
        return totals

    def state_of(self, context: Sequence[int] | NDArray[np.int32]) -> int:
        """The state after the words of a context, nothing known before them (put `<s>` in front yourself)."""
        return int(walk(self.arrays, 0, np.asarray(context, dtype=np.int32))[1])

    def map_vocabulary(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The numbers this model gives to another vocabulary's words, shape (len(words),)."""
        return self.vocabulary.ids(list(words))

    def save(self, directory: str | Path) -> None:
        """Writes the model as .npy files; `header.json`, written last, says that it is complete."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "header.json").unlink(missing_ok=True)
        self.vocabulary.save(directory / "vocabulary.txt")
        flat = dict(zip(DTYPES, self.arrays, strict=True))
        for name, array in flat.items():
            with atomic_write(directory / f"{name}.npy") as stream:
                np.save(stream, array, allow_pickle=False)
        sizes = {name: len(array) for name, array in flat.items()}
        header = {"format": FORMAT, "order": self.order, "words": len(self.vocabulary), "sizes": sizes}
        with atomic_write(directory / "header.json") as stream:
            stream.write(json.dumps(header, indent=1).encode())

    @classmethod
    def load(cls, directory: str | Path) -> NgramModel:
        """Opens what `save` wrote, memory-mapped, or what it wrote in an earlier version.

        Raises:
            InputError: another format or version, or a file that is missing, damaged or of another size.
        """
        directory = Path(directory)
        header = _read_header(directory / "header.json")
        kinds = DTYPES if header["format"] == FORMAT else EARLIER_DTYPES
        flat = {name: _read_array(directory / f"{name}.npy", header["sizes"][name], kinds[name]) for name in kinds}
        vocabulary = Vocabulary.load(directory / "vocabulary.txt")
        if len(vocabulary) != header["words"]:
            raise InputError(
                "the vocabulary does not fit the model",
                file=directory / "vocabulary.txt",
                seen=f"{len(vocabulary)} words",
                expected=f"{header['words']} words",
                remedy="make the model again",
            )
        if kinds is DTYPES:
            return cls(vocabulary, header["order"], NgramArrays(*flat.values()))
        *table, logprob_K, next_K, backoff_N, suffix_N = flat.values()
        arrays = ngram_arrays(HashTable(*table), logprob_K, next_K, backoff_N, suffix_N)
        return cls(vocabulary, header["order"], arrays)


def _automaton(arpa: ArpaModel) -> NgramArrays:
    """Numbers the contexts (the empty one, then every n-gram below the highest order) and links them."""
    contexts = 1 + sum(arpa.counts[:-1])
    backoff_N = np.zeros(contexts, dtype=np.float32)
    suffix_N = np.zeros(contexts, dtype=np.int32)
    extended_N = np.zeros(contexts, dtype=bool)
    first_of_order = np.cumsum([1, *arpa.counts[:-1]])
    keys: list[NDArray[np.uint64]] = []
    next_rows: list[NDArray[np.int32]] = []
    orders: list[HashTable] = []
    for n, table in enumerate(arpa.tables):
        prefix_K = _contexts_of(table.words_Kn[:, :-1], orders, first_of_order)
        key_K = (prefix_K.astype(np.uint64) << np.uint64(32)) | table.words_Kn[:, -1].astype(np.uint64)
        _check(arpa, table.words_Kn, prefix_K, key_K)
        extended_N[prefix_K] = True
        suffix_K = _longest_suffix(table.words_Kn, orders, first_of_order)
        if n + 1 < arpa.order:
            own_K = first_of_order[n] + np.arange(len(table))
            backoff_N[own_K] = table.backoff_K * LN10
            suffix_N[own_K] = suffix_K
            suffix_K = own_K
            orders.append(build_table(key_K))
        keys.append(key_K)
        next_rows.append(suffix_K.astype(np.int32))
    state_N = _distinguishable(backoff_N, suffix_N, extended_N, first_of_order, arpa.counts)
    logprob_K = (np.concatenate([t.log10_K for t in arpa.tables]) * LN10).astype(np.float32)
    return ngram_arrays(
        build_table(np.concatenate(keys)), logprob_K, state_N[np.concatenate(next_rows)], backoff_N, state_N[suffix_N]
    )


def _check(
    arpa: ArpaModel, words_Kn: NDArray[np.int32], prefix_K: NDArray[np.int64], key_K: NDArray[np.uint64]
) -> None:
    first_K = np.unique(key_K, return_index=True)[1]
    repeated = np.setdiff1d(np.arange(len(key_K)), first_K)
    for message, expected, rows in (
        (
            "an n-gram whose beginning is no n-gram of the model",
            "its first words listed too",
            np.flatnonzero(prefix_K < 0),
        ),
        ("an n-gram stands twice", "each n-gram once", repeated),
    ):
        if len(rows):
            seen = " ".join(arpa.vocabulary.word(int(word)) for word in words_Kn[rows[0]])
            raise InputError(message, seen=seen, expected=expected, remedy="make the model again")


def _contexts_of(
    words_Kn: NDArray[np.int32], orders: list[HashTable], first_of_order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The context numbers of word sequences, -1 where the model has no such n-gram; 0 for empty ones."""
    context_K = np.zeros(len(words_Kn), dtype=np.int64)
    for n in range(words_Kn.shape[1]):
        keys = (context_K.astype(np.uint64) << np.uint64(32)) | words_Kn[:, n].astype(np.uint64)
        rows = find_all(orders[n], keys)
        context_K = np.where((context_K >= 0) & (rows >= 0), first_of_order[n] + rows, -1)
    return context_K


def _longest_suffix(
    words_Kn: NDArray[np.int32], orders: list[HashTable], first_of_order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The context of the longest proper suffix that the model knows, for each n-gram."""
    found_K = np.full(len(words_Kn), -1, dtype=np.int64)
    for start in range(1, words_Kn.shape[1] + 1):
        open_K = np.flatnonzero(found_K < 0)
        if not len(open_K):
            break
        found_K[open_K] = _contexts_of(words_Kn[open_K, start:], orders, first_of_order)
    return found_K


def _distinguishable(
    backoff_N: NDArray[np.float32],
    suffix_N: NDArray[np.int32],
    extended_N: NDArray[np.bool_],
    first_of_order: NDArray[np.int64],
    counts: list[int],
) -> NDArray[np.int32]:
    """For each context the shortest one that answers every query alike."""
    state_N = np.arange(len(backoff_N), dtype=np.int32)
    for first, count in zip(first_of_order, counts[:-1], strict=False):
        own = np.arange(first, first + count)
        idle = own[~extended_N[own] & (backoff_N[own] == 0)]
        state_N[idle] = state_N[suffix_N[idle]]
    return state_N


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        kinds = {FORMAT: DTYPES, EARLIER: EARLIER_DTYPES}[header["format"]]
        fits = header["sizes"].keys() == kinds.keys()
        numbers = [header["order"], header["words"], *header["sizes"].values()]
        fits = fits and all(isinstance(number, int) and number > 0 for number in numbers)
        seen = header
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fits, seen, header = False, f"{type(error).__name__}: {error}", {}
    if not fits:
        raise InputError(
            "not a language model directory", file=path, seen=seen, expected=FORMAT, remedy="make it again"
        )
    return dict(header)


def _read_array(path: Path, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError("cannot be read", file=path, seen=error, expected=f"an array of {size}") from error
    if array.shape != (size,) or array.dtype != dtype:
        raise InputError(
            "of another size or kind than the header says",
            file=path,
            seen=f"{array.shape} of {array.dtype}",
            expected=f"({size},) of {dtype}",
            remedy="make the model again",
        )
    # Kernels take one kind of array: a plain read-only view of the mapped memory.
    return np.asarray(array)
