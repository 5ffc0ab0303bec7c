"""The hierarchical model under the plain CKY decoder, which goes bottom-up and knows nothing of its search."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats
from xlate.formats.scfg import COPIES, LANGUAGE, NO_LIMIT, Gap, Scfg, ScfgRule, Symbol, glue_grammar, joined
from xlate.models.derivation import COPIED
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.grammar.system import GrammarSystem
from xlate.models.hierarchical.model import COLUMNS, GLUE, LM, HierarchicalModel
from xlate.phrases.table import GAP
from xlate.search.settings import GrammarSearch

LABEL, GOAL = "X", "S"


def bottom_up_grammar(model: HierarchicalModel, max_span: int) -> SynchronousGrammar:
    """The rules with their float features by name, over spans of at most `max_span` words, and glue rules."""
    table, rules = model.table, []
    for s, t, swapped in zip(table.source_B.tolist(), table.target_B.tolist(), table.swapped_B.tolist(), strict=True):
        source: list[Symbol] = []
        gaps: list[Symbol] = []
        for word in table.source_sides[s].tolist():
            if word == GAP:
                gaps.append(Gap(LABEL, len(gaps) + 1))
            source.append(gaps[-1] if word == GAP else model.source_vocabulary.word(word))
        phrase = [model.target_vocabulary.word(word) for word in table.target_phrases[t].tolist()]
        rules.append(ScfgRule(LABEL, tuple(source), (*phrase, *(gaps[::-1] if swapped else gaps))))
    scfg = Scfg(rules, COLUMNS, model.rule_features(np.arange(len(table)))[:, : len(COLUMNS)])
    glue = Scfg(glue_grammar(LABEL, GOAL).rules, (COLUMNS[GLUE],), np.ones((2, 1)))
    return SynchronousGrammar(joined([(scfg, max_span), (glue, NO_LIMIT)]), GOAL, LABEL)


def bottom_up_decoder(model: HierarchicalModel, weights_D: Floats, max_span: int, nbest: int) -> GrammarSystem:
    """The exact CKY decoder of a model under float weights; those of backtracks, which a grammar has not, are 0."""
    copied = float(model.rule_features(np.array([COPIED]))[0] @ weights_D)
    weights = dict(zip(COLUMNS, weights_D.tolist(), strict=True))
    del weights[COLUMNS[LM]]
    grammar = bottom_up_grammar(model, max_span)
    search = GrammarSearch(pop_limit=10**9, nbest=nbest)
    return GrammarSystem(grammar, weights | {LANGUAGE: float(weights_D[LM]), COPIES: copied}, model.lm, search)
