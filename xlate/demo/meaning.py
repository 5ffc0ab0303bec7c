"""The meanings of the sentences of the built-in language pair, without the words of either language.

The frequencies are chosen so that most sentences need one or two exchanges of neighbouring phrases, and few need more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xlate.demo.words import (
    ADJECTIVES,
    BY_TARGET,
    COPULA,
    DETERMINERS,
    FREQUENCY,
    HEADS,
    MODIFIERS,
    MOVING,
    NAME_BEGINNINGS,
    NOUNS,
    PERSON_ENDINGS,
    PLACE_ENDINGS,
    PLAIN_POSTPOSITIONS,
    PRONOUNS,
    RESTING,
    TIMES,
    TRANSITIVE,
    Noun,
    Selecting,
    Word,
)

T = TypeVar("T")
USUAL = 0.75


class Draw:
    """A stream of choices fixed by a name.

    Only `random()` of the standard generator is used: Python guarantees that its sequence does not change between
    versions, which does not hold for `choice` or `shuffle`.

    Example:
        >>> Draw("a name").chance(0.0)
        False
    """

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def pick(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of the items, with a probability proportional to its weight."""
        place = self._random.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            place -= weight
            if place < 0:
                return item
        return items[-1]

    def zipf(self, items: Sequence[T]) -> T:
        """One of the items, the first most likely: item r, counted from 0, has the weight 1 / (r + 2)."""
        return self.pick(items, [1 / (rank + 2) for rank in range(len(items))])

    def form(self, forms: Sequence[str]) -> str:
        """One of several forms with the same meaning, mostly the first."""
        return forms[0] if len(forms) == 1 or self.chance(USUAL) else forms[1]


COUNTLESS = "drink"
_MODIFIERS = [BY_TARGET[name] for name in MODIFIERS.split()]


@dataclass(frozen=True)
class Name:
    """A person or a place; the same in both languages."""

    text: str
    plural: bool = False


@dataclass(frozen=True)
class Pronoun:
    """A pronoun; its target is written `they/them`."""

    word: Word
    plural: bool


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its modifiers; `modifier` makes it a compound, `possessor` owns it."""

    noun: Noun
    plural: bool = False
    definite: bool = True
    determiner: Word | None = None
    adjective: Selecting | None = None
    modifier: Noun | None = None
    possessor: NounPhrase | None = None


@dataclass(frozen=True)
class Couple:
    """Two noun phrases joined by `and`."""

    first: NounPhrase
    second: NounPhrase
    plural: bool = True


Participant: TypeAlias = Name | Pronoun | NounPhrase | Couple


@dataclass(frozen=True)
class Setting:
    """A place, a direction or a companion; `relation` is the source postposition."""

    relation: str
    ground: NounPhrase | Name


@dataclass(frozen=True)
class Clause:
    """A clause: who does what. A copula has a predicate in place of an object."""

    subject: Participant
    verb: Word
    tense: str = "present"
    negated: bool = False
    object: Participant | None = None
    setting: Setting | None = None
    adverb: Word | None = None
    predicate: Selecting | None = None


@dataclass(frozen=True)
class Sentence:
    """A sentence: one or two clauses, a time, and a place if that comes first."""

    clauses: tuple[Clause, ...]
    mark: str = "."
    time: Word | None = None
    place: Setting | None = None


class Speaker:
    """Invents the meanings of sentences."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def sentence(self) -> Sentence:
        """The meaning of a sentence of any length."""
        draw = self._draw
        if draw.chance(0.09):
            first = self._transitive("past") if draw.chance(0.6) else self._short_clause()
            return Sentence((first, self._short_clause()))
        tense = draw.pick(("present", "past", "future"), (0.6, 0.3, 0.1))
        time = draw.zipf(TIMES[tense]) if draw.chance(0.2) else None
        kind = draw.pick(("transitive", "resting", "moving", "copula"), (0.56, 0.13, 0.14, 0.17))
        clause = self._transitive(tense) if kind == "transitive" else self._other(kind, tense)
        fronted = kind == "transitive" and time is None and draw.chance(0.3)
        question = kind != "copula" and tense != "future" and not clause.negated and not fronted and draw.chance(0.07)
        mark = "?" if question else "!" if draw.chance(0.05) else "."
        return Sentence((clause,), mark, None if question else time, self._place() if fronted else None)

    def _transitive(self, tense: str) -> Clause:
        draw = self._draw
        verb = draw.zipf(TRANSITIVE)
        negated, adverb = self._manner(tense)
        kinds = [kind for kind in NOUNS if kind in verb.kinds]
        return Clause(self._subject(), verb, tense, negated, self._object(kinds), adverb=adverb)

    def _other(self, kind: str, tense: str) -> Clause:
        draw = self._draw
        if kind == "copula":
            subject = self._noun_phrase(self._noun(list(NOUNS)), adjective=0.04, possessor=0.25)
            return Clause(subject, COPULA, tense, predicate=draw.zipf(ADJECTIVES[subject.noun.kind]))
        negated, adverb = self._manner(tense)
        subject_of_any = self._subject("animal" if draw.chance(0.3) else "person")
        verbs, setting = (RESTING, self._place) if kind == "resting" else (MOVING, self._way)
        return Clause(subject_of_any, draw.zipf(verbs), tense, negated, setting=setting(), adverb=adverb)

    def _short_clause(self) -> Clause:
        draw = self._draw
        tense = draw.pick(("present", "past"), (0.6, 0.4))
        subject = self._noun_phrase(self._noun(["person", "animal"]), determiner=0.1)
        return Clause(subject, draw.zipf(RESTING + MOVING), tense, draw.chance(0.2))

    def _manner(self, tense: str) -> tuple[bool, Word | None]:
        """Whether the verb is negated, and an adverb when it is not."""
        draw = self._draw
        negated = tense != "future" and draw.chance(0.08)
        adverb = tense == "present" and not negated and draw.chance(0.2)
        return negated, draw.zipf(FREQUENCY) if adverb else None

    def _subject(self, kind: str = "person") -> Participant:
        draw = self._draw
        choice = draw.pick(("pronoun", "name", "couple", "noun"), (0.12, 0.1, 0.05, 0.73))
        if choice == "pronoun":
            return self._pronoun()
        if choice == "name":
            return self._name(person=True)
        if choice == "couple":
            return Couple(NounPhrase(self._noun([kind])), NounPhrase(self._noun([kind])))
        return self._noun_phrase(self._noun([kind]), adjective=0.35, determiner=0.15, possessor=0.04, definite=0.92)

    def _object(self, kinds: list[str]) -> Participant:
        draw = self._draw
        if "person" in kinds and draw.chance(0.25):
            return self._pronoun() if draw.chance(0.6) else self._name(person=True)
        noun = self._noun(kinds)
        return self._noun_phrase(noun, adjective=0.1, determiner=0.13, possessor=0.02, definite=0.75, compound=0.3)

    def _place(self) -> Setting:
        draw = self._draw
        relation = draw.pick(("em", *PLAIN_POSTPOSITIONS), (0.75, 0.15, 0.1))
        if relation == "em" and draw.chance(0.12):
            return Setting(relation, self._name(person=False))
        sites = ["place", "building", "land", "furniture", "vehicle", "plant"]
        noun = self._noun(sites, (0.35, 0.25, 0.15, 0.12, 0.08, 0.05))
        return Setting(relation, self._noun_phrase(noun, adjective=0.07, determiner=0.1, plural=0.1, compound=0.1))

    def _way(self) -> Setting:
        draw = self._draw
        if draw.chance(0.3):
            noun = self._noun(["person", "vehicle"])
            return Setting("ani", self._noun_phrase(noun, determiner=0.1, plural=0.1))
        if draw.chance(0.2):
            return Setting("dor", self._name(person=False))
        noun = self._noun(["place", "building", "land", "furniture"], (0.45, 0.3, 0.15, 0.1))
        return Setting("dor", self._noun_phrase(noun, adjective=0.07, determiner=0.1, plural=0.1, compound=0.1))

    def _noun(self, kinds: list[str], weights: tuple[float, ...] | None = None) -> Noun:
        nouns = NOUNS[self._draw.pick(kinds, weights or [1.0] * len(kinds))]
        return self._draw.pick(nouns, [noun.weight for noun in nouns])

    def _noun_phrase(
        self,
        noun: Noun,
        adjective: float = 0.0,
        determiner: float = 0.0,
        possessor: float = 0.0,
        definite: float = 1.0,
        plural: float = 0.3,
        compound: float = 0.0,
    ) -> NounPhrase:
        """A noun with modifiers, each with the given probability."""
        draw = self._draw
        countless = noun.kind == COUNTLESS
        many = not countless and draw.chance(plural)
        owner = NounPhrase(self._noun(["person"]), draw.chance(0.15)) if draw.chance(possessor) else None
        determined = owner is None and not countless and draw.chance(determiner)
        modified = noun.target[0] in HEADS.split() and draw.chance(compound)
        return NounPhrase(
            noun,
            many,
            definite=owner is not None or determined or draw.chance(definite),
            determiner=draw.zipf(DETERMINERS[many]) if determined else None,
            adjective=draw.zipf(ADJECTIVES[noun.kind]) if owner is None and draw.chance(adjective) else None,
            modifier=draw.zipf([word for word in _MODIFIERS if word is not noun]) if modified else None,
            possessor=owner,
        )

    def _pronoun(self) -> Pronoun:
        plural = self._draw.chance(0.4)
        return Pronoun(self._draw.zipf(PRONOUNS[plural]), plural)

    def _name(self, person: bool) -> Name:
        draw = self._draw
        endings = (PERSON_ENDINGS if person else PLACE_ENDINGS).split()
        return Name(draw.zipf(NAME_BEGINNINGS.split()) + draw.pick(endings, [1.0] * len(endings)))
