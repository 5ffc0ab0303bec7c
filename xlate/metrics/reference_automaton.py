"""An automaton that tells, at each word of a hypothesis, which n-grams of the references end there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from xlate.array_types import Ints32
from xlate.metrics.bleu import ORDER

Words = tuple[str, ...]


class ReferenceAutomaton:
    """S states, one for each sequence of fewer than `order` words that stands in a reference; state 0 is the empty
    sequence.

    A hypothesis is in the state of its longest suffix that has one (Aho & Corasick 1975). Later matches depend on
    nothing else. Words outside the references lead to state 0.

    Attributes:
        next_SW: the next state, by state and word; words are numbered by `word`.
        depth_SW: the length n ≤ order of the longest reference n-gram that ends with this word; all shorter n-grams
            that end with it are then in the references too.
    """

    def __init__(self, references: Sequence[Sequence[str]], order: int = ORDER) -> None:
        """Collects the n-grams of the references of one sentence, any number of them."""
        followers: dict[Words, set[str]] = defaultdict(set)
        for reference in references:
            for end in range(1, len(reference) + 1):
                for n in range(1, min(order, end) + 1):
                    followers[tuple(reference[end - n : end - 1])].add(reference[end - 1])
        grams = [(*context, word) for context, words in followers.items() for word in words]
        contexts: list[Words] = [(), *sorted((g for g in grams if len(g) < order), key=lambda g: (len(g), g))]
        states = {context: state for state, context in enumerate(contexts)}
        self.order = order
        self._words = {word: number for number, word in enumerate(sorted(followers[()]), 1)}
        self.next_SW: Ints32 = np.zeros((len(contexts), len(self._words) + 1), np.int32)
        self.depth_SW: Ints32 = np.zeros_like(self.next_SW)
        for context, state in states.items():
            if context:
                # The same as without the first word, except where a longer n-gram of a reference goes on.
                shorter = states[context[1:]]
                self.next_SW[state], self.depth_SW[state] = self.next_SW[shorter], self.depth_SW[shorter]
            for word in followers.get(context, ()):
                longer = (*context, word)
                self.depth_SW[state, self.word(word)] = len(longer)
                if len(longer) < order:
                    self.next_SW[state, self.word(word)] = states[longer]

    def word(self, word: str) -> int:
        """The number of a word, 0 when no reference has it."""
        return self._words.get(word, 0)

    def __len__(self) -> int:
        """The number of states S."""
        return len(self.next_SW)

    def walk_phrases(self, phrases: Sequence[Words]) -> tuple[Ints32, Ints32]:
        """Where P phrases lead from each state, and which n-grams they match.

        Returns:
            The states behind the phrases, (S, P), and how many n-grams of the references end in them for n = 1 to
            `order`, each occurrence counted, (S, P, order).
        """
        next_SP = np.empty((len(self), len(phrases)), np.int32)
        matches_SPn = np.zeros((len(self), len(phrases), self.order), np.int32)
        lengths_n = np.arange(1, self.order + 1)
        for p, phrase in enumerate(phrases):
            state_S = np.arange(len(self))
            for number in map(self.word, phrase):
                matches_SPn[:, p] += self.depth_SW[state_S, number][:, None] >= lengths_n
                state_S = self.next_SW[state_S, number]
            next_SP[:, p] = state_S
        return next_SP, matches_SPn
