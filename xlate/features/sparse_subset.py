"""The sparse features of a phrase table for a table of some of its pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import Ints
from xlate.features.phrase_sparse import SparseFeatures
from xlate.features.phrase_templates import Family
from xlate.phrases.table import PhraseTable


def features_of_subset(
    sparse: SparseFeatures, table: PhraseTable, source_P: Ints, target_Q: Ints, pair_B: Ints
) -> tuple[SparseFeatures, Ints]:
    """The same features over a table of some of the pairs, and the id that each of its ids has in `sparse`.

    Args:
        sparse: the features over the whole table.
        table: the smaller table, over the same vocabularies.
        source_P, target_Q, pair_B: the rows of its source phrases, target phrases and pairs in the whole table.
    """
    rows = {"source_phrase": source_P, "target_phrase": target_Q, "pair": pair_B}
    families: list[Family] = []
    whole_ids: list[Ints] = [np.zeros(0, dtype=np.int64)]
    for family in sparse.families:
        rows_W = rows.get(family.position)
        values_W = np.arange(family.size) if rows_W is None else np.asarray(rows_W, dtype=np.int64)
        families.append(replace(family, first=families[-1].end if families else 0, size=len(values_W)))
        ids_WK = family.first + values_W[:, None] * family.crossed + np.arange(family.crossed)
        whole_ids.append(ids_WK.reshape(-1))
    return replace(sparse, families=tuple(families), table=table), np.concatenate(whole_ids)
