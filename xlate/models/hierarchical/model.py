"""The hierarchical model as the decoder sees it: rules, language model, and the float features of Watanabe et al."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import lengths_of
from xlate.features.structure import StructureFeatures
from xlate.kernels.counting.matching import PhraseFinder
from xlate.lm.model import NgramModel
from xlate.phrases.matching import phrase_finder
from xlate.phrases.rules import RuleTable
from xlate.phrases.table import select_phrases
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

# Features in the order of n-best lists, and how many numbers each has (B3).
RULE_FEATURES = {
    "LM0": 1,
    "WordPenalty0": 1,
    "RulePenalty0": 1,
    "Glue0": 1,
    "TranslationModel0": 4,
    "Insertion0": 1,
    "Deletion0": 1,
    "Backtrack0": 2,
    "UnknownWordPenalty0": 1,
}
_STARTS = list(accumulate(RULE_FEATURES.values(), initial=0))
SLOTS = {name: slice(a, b) for name, a, b in zip(RULE_FEATURES, _STARTS, _STARTS[1:], strict=False)}
SIZE = _STARTS[-1]
LM, WORD_PENALTY, RULE_PENALTY, GLUE, INSERTION, DELETION, UNKNOWN = (
    SLOTS[name].start
    for name in ("LM0", "WordPenalty0", "RulePenalty0", "Glue0", "Insertion0", "Deletion0", "UnknownWordPenalty0")
)
TABLE, BACKTRACK = SLOTS["TranslationModel0"], SLOTS["Backtrack0"]
COLUMNS = tuple(
    name if count == 1 else f"{name}_{place}" for name, count in RULE_FEATURES.items() for place in range(count)
)
# What a source word that stands for itself counts, and the least log that is taken, as in the phrase model.
UNKNOWN_PENALTY = -100.0
LOWEST_LOG = -100.0
# The sum of the sparse features, the last float of a model that has some.
STRUCTURE = "SparseStructure0"


@dataclass(frozen=True)
class HierarchicalModel:
    """Rules with scores and a language model; there are no weights in it.

    A derivation has D = 13 float features: ln p of the language model; minus its words; its rules; the spans that were
    glued on; natural logs of the four scores of its rules; minus the target words, and minus the source words, that no
    word across explains (Bender et al. 2004); minus the times its rules went back in the source, and minus the words
    they went back (Watanabe et al. 2006b); the penalty of words that stand for themselves. With structure features
    their weighted sum is one more.
    """

    table: RuleTable
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    lm: NgramModel
    structure: StructureFeatures | None = None

    @property
    def features(self) -> dict[str, int]:
        """The D float features by name, and how many numbers each has."""
        return {**RULE_FEATURES, **({STRUCTURE: 1} if self.structure is not None else {})}

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each float feature."""
        return (*COLUMNS, *((STRUCTURE,) if self.structure is not None else ()))

    @property
    def size(self) -> int:
        """The number of float features D."""
        return len(self.columns)

    @cached_property
    def source_finder(self) -> PhraseFinder:
        """Finds source sides."""
        return phrase_finder(self.table.source_sides)

    @cached_property
    def lm_number_V(self) -> NDArray[np.int32]:
        """The language model's numbers of the target words, shape (V,)."""
        number_V: NDArray[np.int32] = self.lm.map_vocabulary(self.target_vocabulary.words)
        return number_V

    @cached_property
    def rule_offsets_P1(self) -> NDArray[np.int64]:
        """Where the rules of each source side begin, shape (P + 1,)."""
        sides = np.arange(len(self.table.source_sides) + 1)
        return np.searchsorted(self.table.source_B, sides).astype(np.int64)

    def rule_features(self, rule_N: NDArray[np.integer]) -> NDArray[np.float64]:
        """What rules have wherever they stand, shape (N, D); a negative number is a word that stands for itself."""
        table, known_N = self.table, np.asarray(rule_N) >= 0
        rules = np.asarray(rule_N)[known_N]
        features_ND = np.zeros((len(known_N), self.size))
        features_ND[:, RULE_PENALTY] = 1.0
        features_ND[:, WORD_PENALTY] = -1.0
        features_ND[~known_N, UNKNOWN] = UNKNOWN_PENALTY
        features_ND[known_N, WORD_PENALTY] = -lengths_of(table.target_phrases.offsets_S1, table.target_B[rules])
        with np.errstate(divide="ignore"):
            features_ND[known_N, TABLE] = np.maximum(np.log(table.scores_B4[rules]), LOWEST_LOG)
        features_ND[known_N, INSERTION] = -table.insertion_B[rules].astype(np.float64)
        features_ND[known_N, DELETION] = -table.deletion_B[rules].astype(np.float64)
        return features_ND

    def target_phrases(self, rule_N: NDArray[np.integer]) -> EncodedText:
        """The target phrases of rules."""
        return select_phrases(self.table.target_phrases, self.table.target_B[rule_N])

    def target_words(self, rule: int) -> tuple[str, ...]:
        """The target phrase of a rule."""
        row = self.table.target_phrases[int(self.table.target_B[rule])]
        return tuple(self.target_vocabulary.words[word] for word in row.tolist())


def weighted_sum(features_ND: NDArray[np.float64], weights_D: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted sums of rows, (N,); not a matrix product, whose last bits depend on which rows are together."""
    total_N = np.zeros(len(features_ND))
    for weight, column_N in zip(weights_D.tolist(), features_ND.T, strict=True):
        if weight:
            total_N += weight * column_N
    return total_N
