"""Oracles: the paths of a lattice with the highest sentence BLEU, and the choice with the best BLEU from n-best lists.

The exact oracle is NP-hard, since clipped n-gram counts do not add up along a path (Leusch, Matusov & Ney 2008). There
are two methods. Among the n best distinct paths the oracle is exact (TZ07 section 5.2 uses 1000). Over the whole
lattice, ln BLEU is replaced by its tangent in the n-gram matches and the length of a known translation, which adds up
along paths whose nodes know the last words (Tromble et al. 2008 do so once, at fixed corpus-wide ratios; Sokolov,
Wisniewski & Yvon 2012 compare such oracles). The best paths by that gain are scored by BLEU itself, and the next
tangent is taken at the best of them, until there is no improvement. Taking the tangent at the sentence's own statistics
requires no tuning of ratios; and since it starts from the n best by model score, the result is never worse than those.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, AnyInts, Floats, Ints
from xlate.candidates.lists import ngram_statistics
from xlate.errors import refuse_if
from xlate.kernels.memory import best_of_each
from xlate.kernels.search.lattice_passes import best_path, product
from xlate.metrics.bleu import ORDER, ReferenceAutomaton, bleu_scores, sentence_bleu
from xlate.search.beam import Words
from xlate.search.lattice import Lattice, LatticeExample, LatticePath, first_paths, joined
from xlate.text.vocabulary import EncodedText

ROUNDS = 10
# Gains are rounded to multiples of this.
GRID = 2.0**-20


@dataclass(frozen=True)
class OraclePath:
    """A path and the sentence BLEU+1 of its words, 0 to 100."""

    path: LatticePath
    bleu: float


def lattice_oracle(
    lattice: Lattice, references: Sequence[Sequence[str]], *, count: int = 1, nbest: int = 100
) -> list[OraclePath]:
    """The best translations by sentence BLEU that successive tangents find in the lattice.

    Args:
        lattice: of one sentence.
        references: its references, one or more, as words.
        count: the maximum number of distinct translations returned, best first; each as its best derivation.
        nbest: how many paths, by score and by each tangent, are scored with BLEU.

    Raises:
        InputError: no reference.
    """
    search = OracleSearch(lattice, references)
    found = {oracle.path.words: oracle for oracle in _ranked(search, lattice.first(nbest))}
    tried: Words | None = None
    for _ in range(ROUNDS):
        best = max(found.values(), key=lambda oracle: oracle.bleu).path.words
        if best == tried:
            break
        tried = best
        gain_n, word_gain = bleu_tangent(search.statistics([best])[0])
        for oracle in _ranked(search, search.by_gain(gain_n, word_gain, nbest)):
            found.setdefault(oracle.path.words, oracle)
    ordered = sorted(found.values(), key=lambda oracle: (-oracle.bleu, -oracle.path.score))[:count]
    return [OraclePath(_best_derivation(lattice, oracle.path.words), oracle.bleu) for oracle in ordered]


def oracle_example(
    lattice: Lattice,
    references: Sequence[Sequence[str]],
    *,
    count: int = 1,
    margin: float = math.inf,
) -> LatticeExample | None:
    """The lattice as an instance of the global model: the derivations of its `count` oracles are wanted.

    None when no path has a word of the references, so that nothing can be wanted.

    Args:
        count: as in `lattice_oracle`.
        margin: drop arcs that are neither on a path within it of the best one nor on a wanted one: `Lattice.pruned`.

    Raises:
        InputError: no reference, or scores that are not linear in the weights.
    """
    oracles = [oracle for oracle in lattice_oracle(lattice, references, count=count) if oracle.bleu > 0]
    if not oracles:
        return None
    target = joined([lattice.derivations_of(oracle.path.words) for oracle in oracles])
    if margin < math.inf:
        lattice = lattice.pruned(margin, keep=target.arc_B)
        target = joined([lattice.derivations_of(oracle.path.words) for oracle in oracles])
    return lattice.example(target)


class OracleSearch:
    """A lattice whose nodes know as many last words as matter to the references, so that n-gram matches add up."""

    def __init__(self, lattice: Lattice, references: Sequence[Sequence[str]]) -> None:
        """Pairs the lattice's nodes with the states of the references' automaton.

        Raises:
            InputError: no reference.
        """
        refuse_if(not references, "an oracle needs a reference", "none", "one or more")
        self.lattice = lattice
        self.automaton = ReferenceAutomaton(references)
        self.references = self._encoded(references)
        next_SP, matches_SPn = self.automaton.walk_phrases(lattice.phrases)
        accepting_S = np.ones(len(self.automaton), bool)
        self.graph, self.arc_B, state_B = product(lattice.graph, lattice.phrase_A, next_SP, accepting_S)
        self.matches_Bn = matches_SPn[state_B, lattice.phrase_A[self.arc_B]]

    def by_gain(self, gain_n: Floats, word_gain: float, most: int) -> list[LatticePath]:
        """The first distinct paths by Σ_n gain_n · (n-grams that some reference has) + word_gain · words, best first.

        Unlike BLEU, this counts every occurrence of an n-gram.
        """
        gain_B = self.matches_Bn @ gain_n + word_gain * self.lattice.length_A[self.arc_B]
        # Sums of such numbers are exact, so that paths with the same counts are equally good.
        gain_B = np.round(gain_B / GRID) * GRID
        return first_paths(self.lattice, self.graph, gain_B, self.arc_B, most)

    def statistics(self, translations: Sequence[Words]) -> Ints:
        """BLEU statistics of H translations, (H, 10); see `ngram_statistics`."""
        ends, reference_ends = np.array([0, len(translations)]), np.array([0, len(self.references)])
        return ngram_statistics(self._encoded(translations), ends, self.references, reference_ends)

    def _encoded(self, sentences: Sequence[Sequence[str]]) -> EncodedText:
        number = self.automaton.word
        return EncodedText.from_ids(np.array([number(w) for w in words], np.int32) for words in sentences)


def bleu_tangent(stats_K: AnyInts) -> tuple[Floats, float]:
    """The derivatives of ln BLEU+1 by the matches of each order, (4,), and by the length, at given statistics.

    From ln BLEU+1 = min(0, 1 - r / c) + 1/4 Σ_n ln((m_n + δ_n) / (t_n + δ_n)) with length c, closest reference r,
    t_n = c - n + 1 n-grams, m_n matches, and δ_n = 1 for n > 1. If no word matches, m_1 counts as one half. At
    c = r, where the brevity penalty has a kink, half of its slope is used.
    """
    stats = stats_K.astype(np.float64)
    length, reference = max(stats[0], 1.0), stats[1]
    added_n = np.where(np.arange(ORDER) > 0, 1.0, 0.0)
    matched_n, total_n = stats[2 : 2 + ORDER] + added_n, stats[2 + ORDER :] + added_n
    gain_n = 1.0 / (ORDER * np.maximum(matched_n, 0.5))
    brevity = reference / length**2 * (1.0 if length < reference else 0.5 if length == reference else 0.0)
    grows_n = length >= np.arange(1, ORDER + 1)
    return gain_n, float(brevity - (grows_n / np.maximum(total_n, 1.0)).sum() / ORDER)


def _ranked(search: OracleSearch, paths: Iterable[LatticePath]) -> list[OraclePath]:
    listed = list(paths)
    bleu_H = sentence_bleu(search.statistics([path.words for path in listed]))
    order = sorted(range(len(listed)), key=lambda h: (-bleu_H[h], -listed[h].score))
    return [OraclePath(listed[h], float(bleu_H[h])) for h in order]


def _best_derivation(lattice: Lattice, words: Words) -> LatticePath:
    """The highest-scoring path with the given words."""
    found = lattice.derivations_of(words)
    return lattice.path(found.arc_B[best_path(found.graph, lattice.score_A[found.arc_B])])


class Choice(NamedTuple):
    """One hypothesis of each list: its place among all C, (I,), and the corpus BLEU of them, 0 to 100."""

    chosen_I: Ints
    bleu: float


def choice(stats_CK: AnyArray, chosen_I: Ints) -> Choice:
    """Some hypotheses, one of each list, given by their places, and their BLEU."""
    return Choice(chosen_I, float(bleu_scores(stats_CK[chosen_I].sum(axis=0, keepdims=True))[0]))


def oracle(stats_CK: AnyArray, candidate_offsets_I1: Ints, *, worst: bool = False, passes: int = 50) -> Choice:
    """The choice with the highest corpus BLEU that hill climbing finds; with `worst`, the lowest.

    Corpus BLEU is not a sum over sentences, so the best choice cannot be made sentence by sentence. This starts with
    the hypothesis of highest sentence BLEU+1 (Lin & Och 2004) in each list, then goes through the lists in order and
    picks the hypothesis that gives the best score for the whole corpus, until a pass changes nothing. The result is
    never below its start, cannot be improved by a single change, and is reproducible; several simultaneous changes may
    still improve it. BLEU is sacrebleu's, with exponential smoothing.

    Args:
        stats_CK: statistics of all hypotheses, see `metrics.bleu.bleu_scores`.
        candidate_offsets_I1: hypotheses of list i; none may be empty.
        worst: look for the lowest.
        passes: the maximum number of passes.
    """
    sign = -1.0 if worst else 1.0
    stats = np.asarray(stats_CK, np.float64)
    chosen_I = best_of_each(sign * bleu_scores(stats, smooth="add-1"), candidate_offsets_I1)
    total_K = stats[chosen_I].sum(axis=0)
    for _ in range(passes):
        changed = False
        for i in range(len(chosen_I)):
            start, end = candidate_offsets_I1[i], candidate_offsets_I1[i + 1]
            others_K = total_K - stats[chosen_I[i]]
            corpus_C = sign * bleu_scores(others_K + stats[start:end])
            best = int(corpus_C.argmax())
            if corpus_C[best] > corpus_C[chosen_I[i] - start]:
                chosen_I[i] = start + best
                total_K = others_K + stats[start + best]
                changed = True
        if not changed:
            break
    return choice(stats, chosen_I)
