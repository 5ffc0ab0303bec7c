"""The search space of a sentence: what a hypothesis may do next, readably, the rules that a path puts together, and the
same space searched bottom-up (CKY).

A derivation scores the same in whatever order it is found, so without limits both orders find the same ones. Bottom-up,
rules are looked up, ranked and limited as in the search from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice
from typing import Self

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.formats.scfg import Gap, Side
from xlate.kernels.search import rule_decoder
from xlate.kernels.search.rule_decoder import RuleSentence, estimate_spans
from xlate.kernels.search.rule_facts import Structure
from xlate.models.derivation import Span, Step, spans_moved
from xlate.models.grammar.chart import Chart, Languages, Option, TargetSide, Tree
from xlate.models.grammar.parsing import Cell, Match
from xlate.models.hierarchical.model import BACKTRACK, GLUE, LM, HierarchicalModel, RuleOptions
from xlate.models.unit_model import UnitSpace, units_in
from xlate.search.beam import END_LABEL, EVERY_MOVE, SearchGraph, Words, path_of
from xlate.search.settings import RuleSearch
from xlate.text.vocabulary import END_ID, EncodedText


@dataclass(frozen=True, kw_only=True)
class RuleStep(Step):
    """A rule put into a derivation.

    Attributes:
        span: the source words from the first of the rule to just past the last, including gaps.
        gaps: the spans left open, in the order of the target.
        glued: whether the rule was glued onto what is before it, and not put into a gap.
    """

    span: Span
    gaps: tuple[Span, ...]
    glued: bool

    def moved(self, by: int) -> Self:
        """The same rule, shifted `by` source words to the right, its gaps too."""
        (span,) = spans_moved([self.span], by)
        return replace(super().moved(by), span=span, gaps=spans_moved(self.gaps, by))

    @property
    def runs(self) -> list[tuple[int, int, bool]]:
        """The source side from left to right as runs of own words and gaps: begin, end, and whether it is a gap."""
        return sorted([*((a, b, False) for a, b in self.source_spans), *((a, b, True) for a, b in self.gaps)])

    @property
    def places(self) -> list[int]:
        """The source position of each symbol of the source side; for a gap, that of its first word."""
        return [place for a, b, gap in self.runs for place in ([a] if gap else range(a, b))]


@dataclass(frozen=True)
class RuleMoves(UnitSpace):
    """The search space over one sentence. Labels are those of `RuleOptions`, -1 the end.

    The sentence begins as one span that may be glued: a rule translates its beginning, and the rest stays open. A rule
    appends its target words and leaves its gaps open, the first of the target next (Watanabe et al. 2007, section 2.3).
    With `target`, there are only translations whose words occur in it.
    """

    KERNEL = rule_decoder

    model: HierarchicalModel
    weights_D: Floats
    search: RuleSearch
    options: RuleOptions
    structure: Structure
    target: Words | None = None

    def units(self, labels: AnyInts | int) -> tuple[AnyInts, AnyInts]:
        match, at = self.options.taken_apart(labels)
        return self.options.found.unit_R[at], self.options.matches.spans_M2[match, 0]

    @cached_property
    def estimates(self) -> tuple[Floats, Floats]:
        """The best score without history of each span by rules, (n + 1, n + 1), and of each suffix glued together.

        All are 0 without `future_cost`.
        """
        options, n = self.options, len(self.options.words)
        if not self.search.future_cost:
            return np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        alone_T, swapped_T = options.found.alone_R, options.swapped_T
        by_order = [np.where(swapped_T == swapped, alone_T, -np.inf) for swapped in (False, True)]
        # One row per source side: all its matches have the same translations.
        first, side_M = np.unique(options.begin_M, return_inverse=True)
        best_S2 = np.stack([np.maximum.reduceat(scores, first) for scores in by_order], axis=1)
        best_M2, glue = best_S2[side_M] + self.backtrack_M2, float(self.weights_D[GLUE])
        return estimate_spans(options.matches, best_M2, n, options.longest, glue)

    @cached_property
    def backtrack_M2(self) -> Floats:
        """What going back in the source scores, by the order of the gaps of each match; shape (M, 2)."""
        counts_M22 = self.options.backtrack_M22.astype(np.float64)
        steps, words = self.weights_D[BACKTRACK].tolist()
        return np.asarray(-(steps * counts_M22[:, :, 0] + words * counts_M22[:, :, 1]), np.float64)

    @cached_property
    def task(self) -> RuleSentence:
        options, found, (future_nn, suffix_n) = self.options, self.options.found, self.estimates
        static_T = found.static_R
        if self.target is not None:
            # Any label of each translation.
            _, at_L = options.taken_apart(np.arange(options.label_offsets_M1[-1]))
            units = self.units(np.unique(at_L, return_index=True)[1])
            kept = units_in(self.target, self.model.target_words, options.words, *units)
            # NaN is not above any bar.
            static_T = np.full(len(static_T), np.nan)
            static_T[kept] = found.static_R[kept]
        return RuleSentence(
            lm=self.model.lm.arrays,
            words=len(options.words),
            matches=options.matches,
            begin_M=options.begin_M,
            end_M=options.end_M,
            label_offsets_M1=options.label_offsets_M1,
            backtrack_M2=self.backtrack_M2,
            static_T=static_T,
            alone_T=found.alone_R,
            swapped_T=options.swapped_T,
            phrases=found.phrases,
            future_nn=future_nn,
            suffix_n=suffix_n,
            structure=self.structure,
            lm_weight=float(self.weights_D[LM]),
            glue=float(self.weights_D[GLUE]),
            begin_state=int(self.model.lm.begin_state),
            end_word=END_ID,
            limits=EVERY_MOVE,
            pop_limit=self.search.pop_limit,
        )


def tree(steps: Sequence[RuleStep]) -> Iterator[tuple[int, RuleStep]]:
    """The rules of a derivation, in its order, each with its depth below a glued one."""
    waiting: list[int] = []
    for step in steps:
        depth = 0 if step.glued else waiting.pop()
        waiting += [depth + 1] * len(step.gaps)
        yield depth, step


# The labels of what a rule translates, and of what is glued together from the beginning of the sentence.
LABEL, GLUED = "X", "S"
# The numbers of the glue rules, S → X and S → S X; those of other rules are labels of the space.
FIRST, NEXT = -3, -4
GLUE_SIDES: dict[int, TargetSide] = {FIRST: (-1,), NEXT: (-1, -2)}


class BottomUpRules:
    """The matches of a space as the rules of a chart; `pop_limit` hypotheses are made for each cell."""

    def __init__(self, moves: RuleMoves) -> None:
        self.moves = moves
        self.languages = Languages(moves.model.lm, float(moves.weights_D[LM]))
        self.glue = float(moves.weights_D[GLUE])
        # The target sides of rules by their numbers, as far as they were options.
        self.sides = dict(GLUE_SIDES)

    def chart(self) -> Chart:
        """The chart of the sentence, filled from short spans to long ones."""
        options, chart = self.moves.options, Chart(self.languages, self.moves.search.pop_limit, self.options)
        size, offsets = len(options.words), options.label_offsets_M1.tolist()
        for length in range(1, options.longest + 1):
            for begin in range(size - length + 1):
                found, cell = list[Match](), begin * (size + 1) + begin + length
                for match in range(*options.matches.cell_offsets_C1[cell : cell + 2].tolist()):
                    tails = tuple(Cell(LABEL, *gap) for gap in options.gaps(match, swapped=False))
                    # There may be gaps that nothing translates.
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
        phrases = EncodedText(found.phrases.words_W, found.phrases.offsets_O1)
        backtrack_T = self.moves.backtrack_M2[at_M, options.swapped_T[at_T].astype(np.int64)]
        promise_T, score_T = found.alone_R[at_T] + backtrack_T, found.static_R[at_T] + backtrack_T
        order = np.argsort(-promise_T, kind="stable").tolist()
        gaps, listed = [-1 - place for place in range(len(match.tails))], list[Option]()
        for n in order:
            at = int(at_T[n])
            side = (*phrases[at].tolist(), *(gaps[::-1] if options.swapped_T[at] else gaps))
            self.sides[match.rules[n]] = side
            listed.append(Option(float(promise_T[n]), match.rules[n], float(score_T[n]), side))
        return listed

    def target(self, cell: Cell, rule: int) -> Side:  # noqa: ARG002
        """The target side of a rule in words."""
        words = () if rule in GLUE_SIDES else self.moves.words_of(rule)
        return (*words, *(Gap(LABEL, place + 1) for place in self.order(rule)))

    def order(self, rule: int) -> Sequence[int]:
        """The gaps of a rule in the order of the target, by their places in the source."""
        return [-1 - symbol for symbol in self.sides[rule] if symbol < 0]

    def labels(self, tree: Tree) -> list[int]:
        """The labels of a derivation in the order of the target."""
        found: list[int] = []
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            if node.rule not in GLUE_SIDES:
                found.append(node.rule)
            waiting += [node.below[place] for place in reversed(self.order(node.rule))]
        return found


def bottom_up_graph(moves: RuleMoves, most: int, *, distinct: bool) -> SearchGraph:
    """The best `most` derivations of a sentence as paths that share only start and goal, best first.

    Args:
        moves: the search space, without structure features.
        most: how many derivations.
        distinct: whether their words must differ.
    """
    rules = BottomUpRules(moves)
    found = rules.chart().derivations(Cell(GLUED, 0, len(moves.options.words)), rules.target if distinct else None)
    # There are some, because every word has a rule or is copied.
    paths = [[*rules.labels(tree), END_LABEL] for _, tree in islice(found, most)]
    goal = sum(map(len, paths)) - len(paths) + 1
    arcs, score_N, best_N = list[tuple[int, int, int, float]](), [0.0] + [-np.inf] * goal, [-1] * (goal + 1)
    inner = count(1)
    for labels in paths:
        source, total = 0, 0.0
        for label, score in zip(labels, moves.scores(path_of(labels)).tolist(), strict=True):
            # Each arc leads to its own node, the last one of a path to the goal.
            target, total = goal if label == END_LABEL else next(inner), total + score
            if total > score_N[target]:
                score_N[target], best_N[target] = total, len(arcs)
            arcs.append((source, target, label, score))
            source = target
    return SearchGraph.of_arcs(arcs, score_N, best_N, goal)
