"""The hierarchical model as the decoder sees it: rules, language model, and the float features of Watanabe et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.arrays.ragged import lengths_of
from xlate.features.structure import StructureFeatures
from xlate.models.unit_model import UNKNOWN_PENALTY, UnitModel, columns_of, slots_of
from xlate.phrases.table import RuleTable
from xlate.text.encoded import EncodedText

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
SLOTS = slots_of(RULE_FEATURES)
SIZE = sum(RULE_FEATURES.values())
LM, WORD_PENALTY, RULE_PENALTY, GLUE, INSERTION, DELETION, UNKNOWN = (
    SLOTS[name].start
    for name in ("LM0", "WordPenalty0", "RulePenalty0", "Glue0", "Insertion0", "Deletion0", "UnknownWordPenalty0")
)
TABLE, BACKTRACK = SLOTS["TranslationModel0"], SLOTS["Backtrack0"]
COLUMNS = columns_of(RULE_FEATURES)
# The sum of the sparse features, the last float of a model that has some.
STRUCTURE = "SparseStructure0"


@dataclass(frozen=True)
class HierarchicalModel(UnitModel[RuleTable]):
    """Rules with scores and a language model; there are no weights in it.

    A derivation has D = 13 float features: ln p of the language model; minus its words; its rules; the spans that were
    glued on; natural logs of the four scores of its rules; minus the target words, and minus the source words, that no
    word across explains (Bender et al. 2004); minus the times its rules went back in the source, and minus the words
    they went back (Watanabe et al. 2006b); the penalty of words that stand for themselves. With structure features
    their weighted sum is one more.
    """

    structure: StructureFeatures | None = None

    @property
    def features(self) -> dict[str, int]:
        """The D float features by name, and how many numbers each has."""
        return {**RULE_FEATURES, **({STRUCTURE: 1} if self.structure is not None else {})}

    @property
    def sparse_features(self) -> StructureFeatures | None:
        """Those of the structure of derivations."""
        return self.structure

    @property
    def source_sides(self) -> EncodedText:
        """The source sides of rules."""
        return self.table.source_sides

    def rule_features(self, rule_N: AnyInts) -> Floats:
        """What rules have wherever they stand, shape (N, D); a negative number is a word that stands for itself."""
        table, known_N = self.table, np.asarray(rule_N) >= 0
        rules = np.asarray(rule_N)[known_N]
        features_ND = np.zeros((len(known_N), self.size))
        features_ND[:, RULE_PENALTY] = 1.0
        features_ND[:, WORD_PENALTY] = -1.0
        features_ND[~known_N, UNKNOWN] = UNKNOWN_PENALTY
        features_ND[known_N, WORD_PENALTY] = -lengths_of(table.target_phrases.offsets_S1, table.target_B[rules])
        features_ND[known_N, TABLE] = self.log_scores(rules)
        features_ND[known_N, INSERTION] = -table.insertion_B[rules].astype(np.float64)
        features_ND[known_N, DELETION] = -table.deletion_B[rules].astype(np.float64)
        return features_ND
