"""Whether a grammar can translate a sentence as given, and in how many ways: parsing both sides at once, exactly.

The grammar may be that of a hierarchical model.

A cell of the source counts, for each span of the translation, the derivations that cover both. Spans of the target side
of a rule are found symbol by symbol from its left end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from xlate.formats.scfg import NO_LIMIT, Gap, Scfg, ScfgRule, Side, Symbol, glue_grammar, joined, words_of
from xlate.models.grammar.parsing import COPY, Cell, Match, SynchronousGrammar, parse
from xlate.models.hierarchical.model import COLUMNS, GLUE, HierarchicalModel
from xlate.phrases.table import GAP

LABEL, GOAL = "X", "S"
# Derivations by the end of a span, by its start.
Spans = dict[int, dict[int, int]]


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


def count_derivations(grammar: SynchronousGrammar, source: Sequence[str], target: Sequence[str]) -> int:
    """How many derivations a sentence and its translation have; rules that are spelled alike count as one."""
    words, found = grammar.source(source), grammar.source(target)
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(found):
        places[word].append(place)
    cells: dict[Cell, Spans] = {}
    fitting: dict[int, list[Side]] = {}

    def sides(cell: Cell, rules: Sequence[int]) -> list[Side]:
        """The different target sides of some rules whose words all stand in the translation."""
        if rules[0] == COPY or id(rules) not in fitting:
            different = dict.fromkeys(grammar.target(words, cell, rule) for rule in rules)
            fitting[id(rules)] = [side for side in different if places.keys() >= set(words_of(side))]
        return fitting[id(rules)]

    def fill(cell: Cell, matches: list[Match]) -> bool:
        spans: Spans = defaultdict(lambda: defaultdict(int))
        for rules, tails in matches:
            inner = [cells[tail] for tail in tails]
            for side in sides(cell, rules):
                for (start, end), count in _spread(side, inner, found, places).items():
                    spans[start][end] += count
        if spans:
            cells[cell] = spans
        return bool(spans)

    parse(grammar, words, fill)
    return cells.get(Cell(grammar.goal, 0, len(words)), {}).get(0, {}).get(len(found), 0)


def _spread(
    side: Side, inner: Sequence[Spans], words: Sequence[str], places: dict[str, list[int]]
) -> dict[tuple[int, int], int]:
    """The spans of the translation that a target side covers, with the number of ways."""
    reached: dict[tuple[int, int], int] = {}
    for number, symbol in enumerate(side):
        after: dict[tuple[int, int], int] = defaultdict(int)
        if isinstance(symbol, Gap):
            spans = inner[symbol.number - 1]
            begun = reached if number else {(start, start): 1 for start in spans}
            for (start, middle), count in begun.items():
                for end, more in spans.get(middle, {}).items():
                    after[start, end] += count * more
        elif number:
            for (start, middle), count in reached.items():
                if middle < len(words) and words[middle] == symbol:
                    after[start, middle + 1] = count
        else:
            after.update(((place, place + 1), 1) for place in places[symbol])
        if not after:
            return {}
        reached = after
    return reached
