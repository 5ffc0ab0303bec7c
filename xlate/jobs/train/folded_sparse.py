"""Local sparse features folded into the columns of Moses's tables (Auli, Galley & Gao 2014, section 7: C7)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.features.phrase_sparse import BIGRAM, GROUP
from xlate.models.phrase.model import SIZE, SPARSE_PLAIN, SPARSE_REORDERING, TABLE, PhraseModel, Reordering
from xlate.scoring.weights import Weights


def folded(model: PhraseModel, weights: Weights) -> tuple[PhraseModel, Floats]:
    """A model without sparse features that scores known words alike, and its float weights in Moses's order.

    Backward columns of the reordering table become e to the power of their whole weighted score, and weigh 1; what a
    pair scores in any orientation goes into the table score of the largest weight. Moses has no table entry for a word
    that stands for itself, so its sparse features are lost.

    Raises:
        InputError: features that look beyond the phrase, or five orientations: Moses has no column for them.
    """
    if model.orientations != 3:
        raise InputError("Moses has no five-way reordering", expected="a run with model.reordering=hier, wbe or none")
    if model.sparse is None:
        return model, weights.dense_D
    beyond = [f.name for f in model.sparse.families if f.position in GROUP or f.position == BIGRAM]
    if beyond:
        raise InputError(
            "sparse features that look beyond the phrase have no form in Moses's tables",
            seen=", ".join(beyond),
            expected="local templates only",
            remedy="train with sparse=local",
        )
    weights_D = np.array(weights.dense_D[:SIZE])
    every = model.sparse.applications(np.arange(len(model.table)))
    crossed_BK, plain_B = model.sparse.local_scores(weights.sparse_F, every)
    crossed_BK = crossed_BK * weights.dense_D[model.slots[SPARSE_REORDERING]]
    plain_B = plain_B * float(weights.dense_D[model.slots[SPARSE_PLAIN].start])
    reordering = model.reordering
    if crossed_BK.any():
        if reordering is None:
            raise InputError("sparse reordering features without a reordering table", expected="model.reordering=hier")
        logs_BK2 = model.log_reordering(np.arange(len(model.table)))
        logs_BK2[:, :3] = logs_BK2[:, :3] * weights_D[model.backward] + crossed_BK
        reordering = Reordering(reordering.kind, np.exp(logs_BK2))
        weights_D[model.backward] = 1.0
    table = model.table
    if plain_B.any():
        column = int(np.abs(weights_D[TABLE]).argmax())
        logs_B4 = model.log_scores(np.arange(len(model.table)))
        logs_B4[:, column] += plain_B / weights_D[TABLE][column]
        table = replace(table, scores_B4=np.exp(logs_B4))
    return replace(model, table=table, reordering=reordering, sparse=None), weights_D
