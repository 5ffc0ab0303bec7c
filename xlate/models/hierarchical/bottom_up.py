"""The hierarchical model under the plain CKY decoder, which goes bottom-up and knows nothing of its search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.formats.scfg.grammar import glue_grammar
from xlate.formats.scfg.normal_form import grammar_of
from xlate.models.derivation import COPIED
from xlate.models.hierarchical.model import BACKTRACK, COLUMNS, GLUE, LM, HierarchicalModel
from xlate.models.scfg.decoder import COPIES, LANGUAGE, CkyDecoder
from xlate.models.scfg.rules import SynchronousGrammar

LABEL, GOAL = "X", "S"


def bottom_up_grammar(model: HierarchicalModel, max_span: int) -> SynchronousGrammar:
    """The rules with their float features by name, over spans of at most `max_span` words, and glue rules."""
    rules = grammar_of(model.table, model.source_vocabulary, model.target_vocabulary, "ln", LABEL)
    features_BD = model.rule_features(np.arange(len(model.table)))[:, : len(COLUMNS)]
    rules = replace(rules, names=COLUMNS, dense_BD=features_BD)
    glue = replace(glue_grammar((LABEL,), GOAL), names=(COLUMNS[GLUE],), dense_BD=np.ones((2, 1)))
    return SynchronousGrammar([(rules, max_span), (glue, None)], GOAL, LABEL)


def bottom_up_decoder(
    model: HierarchicalModel, weights_D: Floats, max_span: int, pops: int | None = None
) -> CkyDecoder:
    """The CKY decoder of a model under float weights; exact without `pops`.

    Raises:
        InputError: backtracks have a weight, or there are structure features: a grammar's rules do not know of either.
    """
    if model.structure is not None or weights_D[BACKTRACK].any():
        seen = "structure features" if model.structure is not None else f"Backtrack0 {weights_D[BACKTRACK]}"
        raise InputError("the CKY decoder knows the features of rules only", seen=seen, expected="none of them")
    copied = float(model.rule_features(np.array([COPIED]))[0] @ weights_D)
    weights = dict(zip(COLUMNS, weights_D.tolist(), strict=True))
    del weights[COLUMNS[LM]]
    grammar = bottom_up_grammar(model, max_span)
    return CkyDecoder(grammar, weights | {LANGUAGE: float(weights_D[LM]), COPIES: copied}, model.lm, pops)
