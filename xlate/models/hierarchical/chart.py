"""The search space of a sentence searched bottom-up (CKY), readably; what is found are paths of the same labels.

A derivation scores the same in whatever order it is found, so without limits both orders find the same ones. Rules are
looked up, ranked and limited as they are for the search from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from xlate.formats.scfg import Gap, Side
from xlate.models.grammar.chart import Chart, Languages, Option, TargetSide, Tree
from xlate.models.grammar.parsing import Cell, Match
from xlate.models.hierarchical.model import GLUE, LM
from xlate.models.hierarchical.moves import RuleMoves
from xlate.search.graph import END_LABEL, SearchGraph

# What a rule translates, and what is glued together, up from the beginning of the sentence.
LABEL, GLUED = "X", "S"
# The numbers of the glue rules, S → X and S → S X; those of others are labels of the space.
FIRST, NEXT = -3, -4
GLUE_SIDES: dict[int, TargetSide] = {FIRST: (-1,), NEXT: (-1, -2)}


class BottomUpRules:
    """The matches of a space as the rules of a chart; `pop_limit` hypotheses are made for each cell."""

    def __init__(self, moves: RuleMoves) -> None:
        self.moves = moves
        self.languages = Languages(moves.model.lm, float(moves.weights_D[LM]))
        self.glue = float(moves.weights_D[GLUE])

    def chart(self) -> Chart:
        """The chart of the sentence, filled from short spans to long ones."""
        options, chart = self.moves.options, Chart(self.languages, self.moves.search.pop_limit, self.options)
        size, offsets = len(options.words), options.label_offsets_M1.tolist()
        for length in range(1, options.longest + 1):
            for begin in range(size - length + 1):
                found: list[Match] = []
                for match in self.moves.matches(begin, begin + length):
                    tails = tuple(Cell(LABEL, *gap) for gap in options.gaps(match, swapped=False))
                    # A gap may be such that nothing translates it.
                    if all(chart.cells.get(tail) for tail in tails):
                        found.append(Match(range(offsets[match], offsets[match + 1]), tails))
                if found:
                    chart.fill(Cell(LABEL, begin, begin + length), found)
        for end in range(1, size + 1):
            found = []
            for begin in range(max(0, end - options.longest), end):
                last, before = Cell(LABEL, begin, end), Cell(GLUED, 0, begin)
                if chart.cells.get(last) and (not begin or chart.cells.get(before)):
                    found.append(Match((NEXT,), (before, last)) if begin else Match((FIRST,), (last,)))
            chart.fill(Cell(GLUED, 0, end), found)
        return chart

    def options(self, cell: Cell, match: Match) -> Sequence[Option]:  # noqa: ARG002
        """The translations of a match, or one glue rule."""
        if match.rules[0] in GLUE_SIDES:
            return [Option(self.glue, match.rules[0], self.glue, GLUE_SIDES[match.rules[0]])]
        options = self.moves.options
        found, (at_M, at_T) = options.found, options.taken_apart(np.array(match.rules))
        backtrack_T = self.moves.backtrack_M2[at_M, options.swapped_T[at_T].astype(np.int64)]
        promise_T, score_T = found.alone_R[at_T] + backtrack_T, found.static_R[at_T] + backtrack_T
        order = np.argsort(-promise_T, kind="stable").tolist()
        gaps, listed = [-1 - place for place in range(len(match.tails))], list[Option]()
        for n in order:
            at = int(at_T[n])
            side = (*self.moves.phrase(at).tolist(), *(gaps[::-1] if options.swapped_T[at] else gaps))
            listed.append(Option(float(promise_T[n]), match.rules[n], float(score_T[n]), side))
        return listed

    def target(self, cell: Cell, rule: int) -> Side:  # noqa: ARG002
        """The target side of a rule in words."""
        if rule in GLUE_SIDES:
            return tuple(Gap(LABEL, -number) for number in GLUE_SIDES[rule])
        gaps = [Gap(LABEL, place + 1) for place in self.order(rule)]
        return (*self.moves.words_of(rule), *gaps)

    def order(self, label: int) -> list[int]:
        """The gaps of a rule in the order of the target, by their places in the source."""
        match, at = self.moves.options.place(label)
        swapped = bool(self.moves.options.swapped_T[at])
        order = range(len(self.moves.options.gaps(match, swapped)))
        return list(reversed(order) if swapped else order)

    def labels(self, tree: Tree) -> list[int]:
        """The labels of a derivation in the order of the target."""
        found: list[int] = []
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            glue = node.rule in GLUE_SIDES
            order = range(len(node.below)) if glue else self.order(node.rule)
            if not glue:
                found.append(node.rule)
            waiting += [node.below[place] for place in reversed(order)]
        return found


def bottom_up_graph(moves: RuleMoves, most: int, *, distinct: bool) -> SearchGraph:
    """The best `most` derivations of a sentence as paths that share nothing but start and goal, best first.

    Args:
        moves: the search space, without structure features.
        most: how many derivations.
        distinct: whether their words must differ.
    """
    rules = BottomUpRules(moves)
    found = rules.chart().derivations(Cell(GLUED, 0, len(moves.options.words)), rules.target if distinct else None)
    # There are some, since every word has a rule or stands for itself.
    paths = [[*rules.labels(tree), END_LABEL] for _, tree in islice(found, most)]
    ends = np.cumsum([len(labels) for labels in paths]) - 1
    scores = [np.array(moves.scores(labels)) for labels in paths]
    total_A = np.concatenate([np.cumsum(score_L) for score_L in scores])
    inner_A = np.ones(len(total_A), dtype=np.bool_)
    inner_A[ends] = False
    goal = int(inner_A.sum()) + 1
    # Arcs lead to a node of their own each, the last one of a path to the goal.
    target_A = np.where(inner_A, np.cumsum(inner_A), goal).astype(np.int32)
    score_N, best_N = np.zeros(goal + 1), np.full(goal + 1, -1, dtype=np.int32)
    arcs = np.append(np.flatnonzero(inner_A), ends[total_A[ends].argmax()])
    score_N[target_A[arcs]], best_N[target_A[arcs]] = total_A[arcs], arcs
    return SearchGraph(
        np.append(np.int32(0), np.where(inner_A, target_A, np.int32(0))[:-1]),
        target_A,
        np.array([label for labels in paths for label in labels], dtype=np.int32),
        np.concatenate(scores),
        score_N,
        best_N,
        goal,
    )
