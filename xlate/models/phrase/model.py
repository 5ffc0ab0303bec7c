"""The phrase-based model as the decoder sees it: phrase pairs, reordering, language model, and Moses's features."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.features.phrase_sparse import SparseFeatures
from xlate.formats.moses_ini import FeatureLine, MosesIni, read_moses_ini
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.reordering_table import read_reordering_table
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.search.spans import span_rows
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.phrase.sentence_scores import SentencePlaces, SentenceScores
from xlate.phrases.matching import phrase_finder
from xlate.phrases.table import PhraseTable, select_phrases
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

# Features in the order of Moses's n-best lists, and how many numbers each has; a model may have more behind them.
PHRASE_FEATURES = {
    "LexicalReordering0": 6,
    "Distortion0": 1,
    "LM0": 1,
    "WordPenalty0": 1,
    "PhrasePenalty0": 1,
    "TranslationModel0": 4,
    "UnknownWordPenalty0": 1,
}
_STARTS = list(accumulate(PHRASE_FEATURES.values(), initial=0))
SLOTS = {name: slice(a, b) for name, a, b in zip(PHRASE_FEATURES, _STARTS, _STARTS[1:])}
SIZE = _STARTS[-1]
BACKWARD, FORWARD = slice(0, 3), slice(3, 6)
DISTORTION, LM, WORD_PENALTY, PHRASE_PENALTY = (
    SLOTS[name].start for name in ("Distortion0", "LM0", "WordPenalty0", "PhrasePenalty0")
)
TABLE, UNKNOWN = SLOTS["TranslationModel0"], SLOTS["UnknownWordPenalty0"].start
# Moses counts this for every source word that stands for itself, and takes no log below its negative.
UNKNOWN_PENALTY = -100.0
LOWEST_LOG = -100.0
REORDERINGS = {"wbe": 3, "hier": 3, "hier5": 5}
FIVE_WAY, SPARSE_REORDERING, SPARSE_PLAIN = "FiveWayReordering0", "SparseReordering0", "SparsePhrase0"


@dataclass(frozen=True)
class Reordering:
    """Lexicalised reordering, K orientations, bidirectional, conditioned on both phrases.

    Attributes:
        kind: `wbe` (word-based; so is `phrase` when decoding) compares with the neighbouring phrase in target order,
            `hier` with the neighbouring group of phrases; `hier5` tells where a jump goes, and whether all other
            phrases are one group (Auli, Galley & Gao 2014, section 7).
        probability_BK2: monotone, swap, discontinuous with respect to the phrase before, then the same with respect to
            the phrase after; NaN for pairs without. With five orientations: monotone, swap, discontinuous with what is
            before on the left, on the right, monotone with everything before in one group.

    Raises:
        InputError: an unknown kind.
    """

    kind: str
    probability_BK2: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Checks the kind."""
        if self.kind not in REORDERINGS:
            raise InputError("kind of reordering model", seen=self.kind, expected=" or ".join(REORDERINGS))

    @property
    def orientations(self) -> int:
        """The number of orientations K."""
        return REORDERINGS[self.kind]


@dataclass(frozen=True)
class PhraseModel:
    """Phrase pairs with scores, a language model and, when given, lexicalised reordering and sparse features.

    There are no weights in it. Features are those of Moses, then the ten of the five-way reordering model (the six of
    Moses's are 0 then), those of phrases in their sentence, that of their places there, then the sums of sparse
    features by orientation and of the plain ones.

    Raises:
        InputError: reordering probabilities of another number of pairs; sparse features that do not fit the reordering.
    """

    table: PhraseTable
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    lm: NgramModel
    reordering: Reordering | None = None
    sparse: SparseFeatures | None = None
    in_sentence: SentenceScores | None = None
    placed: SentencePlaces | None = None

    def __post_init__(self) -> None:
        """Checks that the parts fit each other."""
        shape = (len(self.table), 2 * self.orientations)
        if self.reordering is not None and self.reordering.probability_BK2.shape != shape:
            raise InputError(
                "reordering probabilities do not fit the phrase table",
                seen=self.reordering.probability_BK2.shape,
                expected=str(shape),
            )
        if self.sparse is not None and self.sparse.has_orientations:
            if self.reordering is not None and self.reordering.kind == "wbe" and self.sparse.has_groups:
                raise InputError(
                    "sparse features of the group before a phrase need the hierarchical model",
                    seen="a word-based reordering model",
                    expected="model.reordering=hier, hier5 or none",
                )
            if self.sparse.orientations != self.orientations:
                seen = f"sparse features of {self.sparse.orientations} orientations"
                raise InputError("sparse features do not fit", seen=seen, expected=f"{self.orientations}")

    @property
    def orientations(self) -> int:
        """The number of orientations K."""
        return 3 if self.reordering is None else self.reordering.orientations

    @property
    def hierarchical(self) -> bool:
        """Whether orientation is that of the shift-reduce stack."""
        sparse = self.sparse is not None and (self.sparse.has_orientations or self.sparse.has_groups)
        return sparse if self.reordering is None else self.reordering.kind != "wbe"

    @cached_property
    def features(self) -> dict[str, int]:
        """The D float features by name, and how many numbers each has."""
        k = self.orientations
        five = {FIVE_WAY: 2 * k} if k > 3 else {}
        more = dict.fromkeys(() if self.in_sentence is None else self.in_sentence.names, 1)
        place = {} if self.placed is None else {self.placed.name: 1}
        sums = {SPARSE_REORDERING: k, SPARSE_PLAIN: 1} if self.sparse is not None else {}
        return {**PHRASE_FEATURES, **five, **more, **place, **sums}

    @cached_property
    def slots(self) -> dict[str, slice]:
        """Where each float feature stands."""
        starts = list(accumulate(self.features.values(), initial=0))
        return {name: slice(a, b) for name, a, b in zip(self.features, starts, starts[1:], strict=False)}

    @property
    def size(self) -> int:
        """The number of float features D."""
        return sum(self.features.values())

    @property
    def backward(self) -> slice:
        """Where the logs of orientation with respect to the phrase before stand."""
        start = self.slots[FIVE_WAY].start if self.orientations > 3 else BACKWARD.start
        return slice(start, start + self.orientations)

    @property
    def forward(self) -> slice:
        """Where the logs of orientation with respect to the phrase after stand."""
        return slice(self.backward.stop, self.backward.stop + self.orientations)

    @property
    def sentence_slots(self) -> slice:
        """Where the floats of phrases in their sentence stand."""
        names = () if self.in_sentence is None else self.in_sentence.names
        first = self.slots[names[0]].start if names else self.size
        return slice(first, first + len(names))

    @property
    def place_slot(self) -> int:
        """Where the float of places stands; behind all where there is none."""
        return self.size if self.placed is None else self.slots[self.placed.name].start

    def place_logs(
        self,
        words: Sequence[str],
        start_O: NDArray[np.integer],
        end_O: NDArray[np.integer],
        pair_O: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """What O phrases of a sentence score at each place, shape (O, R); see `SentencePlaces`. Without it (O, 0)."""
        if self.placed is None:
            return np.zeros((len(pair_O), 0))
        return self.placed.of(words, start_O, end_O, pair_O)

    def sentence_floats(
        self,
        words: Sequence[str],
        start_O: NDArray[np.integer],
        end_O: NDArray[np.integer],
        pair_O: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """The floats that O phrases of a sentence have there, shape (O, E); see `SentenceScores`."""
        if self.in_sentence is None:
            return np.zeros((len(pair_O), 0))
        return self.in_sentence.of(words, start_O, end_O, pair_O)

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each float feature: `LM0`, and `TranslationModel0_0` where there are several."""
        counts = self.features.items()
        return tuple(name if count == 1 else f"{name}_{place}" for name, count in counts for place in range(count))

    def log_scores(self, pair_N: NDArray[np.integer]) -> NDArray[np.float64]:
        """Natural logs of the four scores of pairs, at least -100, shape (N, 4)."""
        return _floored_log(self.table.scores_B4[pair_N])

    def log_reordering(self, pair_N: NDArray[np.integer]) -> NDArray[np.float64]:
        """Natural logs of the reordering probabilities of pairs, 0 where there are none, as Moses adds nothing there.

        Shape (N, 2K).
        """
        if self.reordering is None:
            return np.zeros((len(pair_N), 2 * self.orientations))
        logs_N2 = _floored_log(self.reordering.probability_BK2[pair_N])
        logs_N2[np.isnan(logs_N2)] = 0.0
        return logs_N2

    @cached_property
    def source_finder(self) -> PhraseFinder:
        """Finds the source phrases in a sentence."""
        return phrase_finder(self.table.source_phrases)

    @cached_property
    def lm_number_V(self) -> NDArray[np.int32]:
        """The language model's numbers of the target words, shape (V,)."""
        number_V: NDArray[np.int32] = self.lm.map_vocabulary(self.target_vocabulary.words)
        return number_V

    @cached_property
    def pair_offsets_P1(self) -> NDArray[np.int64]:
        """Where the pairs of each source phrase begin, shape (P + 1,)."""
        sources = np.arange(len(self.table.source_phrases) + 1)
        return np.searchsorted(self.table.source_B, sources).astype(np.int64)

    def static_scores(self, weights_D: NDArray[np.float64], pair_N: NDArray[np.integer]) -> NDArray[np.float64]:
        """The weighted sum of what pairs score wherever they stand: table and penalties; shape (N,)."""
        target_N, offsets_S1 = self.table.target_B[pair_N], self.table.target_phrases.offsets_S1
        lengths_N = offsets_S1[target_N + 1] - offsets_S1[target_N]
        static_N = weights_D[PHRASE_PENALTY] - weights_D[WORD_PENALTY] * lengths_N
        # Not a matrix product, whose last bits depend on which pairs are looked at together.
        for weight, logs_N in zip(weights_D[TABLE], self.log_scores(pair_N).T, strict=True):
            static_N += weight * logs_N
        return np.asarray(static_N, dtype=np.float64)

    def target_phrases(self, pair_N: NDArray[np.integer]) -> EncodedText:
        """The target phrases of pairs."""
        return select_phrases(self.table.target_phrases, self.table.target_B[pair_N])

    def pair_number(self, source: Sequence[str], target: Sequence[str]) -> int | None:
        """The number of the pair of two phrases, None when the table lacks it."""
        p = _row(self.source_finder, self.source_vocabulary.ids(source))
        q = _row(self._target_finder, self.target_vocabulary.ids(target))
        if p < 0 or q < 0:
            return None
        first, last = self.pair_offsets_P1[p : p + 2].tolist()
        pair = first + int(np.searchsorted(self.table.target_B[first:last], q))
        return pair if pair < last and self.table.target_B[pair] == q else None

    def translates(self, source: Sequence[str]) -> bool:
        """Whether any pair has this source phrase."""
        return _row(self.source_finder, self.source_vocabulary.ids(source)) >= 0

    @cached_property
    def _target_finder(self) -> PhraseFinder:
        return phrase_finder(self.table.target_phrases)

    def target_words(self, pair: int) -> tuple[str, ...]:
        """The target phrase of a pair."""
        row = self.table.target_phrases[int(self.table.target_B[pair])]
        return tuple(self.target_vocabulary.words[word] for word in row.tolist())


def _row(finder: PhraseFinder, ids: NDArray[np.int32]) -> int:
    """The row of a phrase, -1 when there is none."""
    return int(span_rows(finder, ids, len(ids))[len(ids) - 1]) if len(ids) else -1


def _floored_log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.maximum(np.log(probabilities), LOWEST_LOG)
    return logs


def weight_vector(weights: Mapping[str, tuple[float, ...]]) -> NDArray[np.float64]:
    """Weights by feature name as one array in the order of `PHRASE_FEATURES`, shape (15,).

    Features not named weigh 0, but for the penalty of unknown words, which weighs 1.

    Raises:
        InputError: an unknown name, a wrong number of weights, or one that is not finite.
    """
    weights_D = np.zeros(SIZE)
    weights_D[UNKNOWN] = 1.0
    for name, values in weights.items():
        if name not in SLOTS:
            raise InputError("weights of an unknown feature", seen=name, expected=", ".join(SLOTS))
        if len(values) != PHRASE_FEATURES[name] or not np.isfinite(values).all():
            expected = f"{PHRASE_FEATURES[name]} finite numbers"
            raise InputError(f"weights of {name} cannot be used", seen=values, expected=expected)
        weights_D[SLOTS[name]] = values
    return weights_D


def load_moses_model(
    path: str | Path, only: Container[str] | None = None
) -> tuple[PhraseModel, NDArray[np.float64], MosesIni]:
    """The model and weights of a Moses system, and its configuration.

    Words are taken as they stand in the tables: Moses's tokenizer has escaped bars in the text too.

    Args:
        path: a moses.ini.
        only: the source phrases to read, None for all; see `moses_table.phrases_in`.

    Raises:
        InputError: a feature that this decoder has not, a missing or double one, or whatever reading the files raises.
    """
    ini = read_moses_ini(path)
    lines = _lines_by_feature(ini)
    table, source, target = read_phrase_table(ini.file(lines["TranslationModel0"]), unescape=False, only=only)
    lm = NgramModel.from_arpa(read_arpa(ini.file(lines["LM0"])))
    reordering, line = None, lines.get("LexicalReordering0")
    if line is not None:
        kind = _reordering_kind(ini, line)
        reordering = Reordering(kind, read_reordering_table(ini.file(line), table, source, target, unescape=False))
    weights = {name: ini.weight(line.name, PHRASE_FEATURES[name]) for name, line in lines.items()}
    return PhraseModel(table, source, target, lm, reordering), weight_vector(weights), ini


_KINDS = {
    "LexicalReordering0": ("LexicalReordering",),
    "Distortion0": ("Distortion",),
    "LM0": ("KENLM", "SRILM", "IRSTLM"),
    "WordPenalty0": ("WordPenalty",),
    "PhrasePenalty0": ("PhrasePenalty",),
    "TranslationModel0": ("PhraseDictionaryMemory", "PhraseDictionaryCompact", "PhraseDictionaryOnDisk"),
    "UnknownWordPenalty0": ("UnknownWordPenalty",),
}


def _lines_by_feature(ini: MosesIni) -> dict[str, FeatureLine]:
    """The feature line of each of `PHRASE_FEATURES` that the configuration has."""
    known = {kind for kinds in _KINDS.values() for kind in kinds}
    for line in ini.features:
        if line.kind not in known:
            raise InputError(
                "a feature this decoder has not",
                file=ini.path,
                line=line.line,
                seen=line.kind,
                expected=", ".join(sorted(known)),
            )
    found = {name: ini.find(*kinds) for name, kinds in _KINDS.items()}
    for name in ("TranslationModel0", "LM0"):
        if found[name] is None:
            raise InputError("a feature is missing", file=ini.path, expected=" or ".join(_KINDS[name]))
    return {name: line for name, line in found.items() if line is not None}


def _reordering_kind(ini: MosesIni, line: FeatureLine) -> str:
    text = line.arguments.get("type", "")
    kind, _, rest = text.partition("-")
    if kind not in ("wbe", "phrase", "hier") or rest.removesuffix("-allff") != "msd-bidirectional-fe":
        raise InputError(
            "a reordering model this decoder has not",
            file=ini.path,
            line=line.line,
            seen=text,
            expected="wbe-, phrase- or hier-msd-bidirectional-fe",
        )
    return "hier" if kind == "hier" else "wbe"
