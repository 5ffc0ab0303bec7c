"""The meanings of the sentences of the built-in language pair, without the words of either language.

The frequencies are chosen so that most sentences need one or two exchanges of neighbouring phrases, and few need more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xlate.demo import lexicon
from xlate.demo.draw import Draw
from xlate.demo.words import Noun, Selecting, Word, parse_nouns, parse_selecting, parse_words

NOUNS = {kind: parse_nouns(text, kind) for kind, text in lexicon.NOUNS.items()}
EVERY_NOUN = [noun for nouns in NOUNS.values() for noun in nouns]
BY_TARGET = {noun.target[0]: noun for noun in EVERY_NOUN}
MODIFIERS = [BY_TARGET[name] for name in lexicon.MODIFIERS.split()]
HEADS = frozenset(lexicon.HEADS.split())
TRANSITIVE = list(parse_selecting(lexicon.TRANSITIVE))
RESTING, MOVING = parse_words(lexicon.RESTING), parse_words(lexicon.MOVING)
COPULA = Word(("as",), ("be",))
ADJECTIVES = {
    kind: [word for word in parse_selecting(lexicon.ADJECTIVES) if kind in word.kinds] for kind in lexicon.NOUNS
}
FREQUENCY = parse_words(lexicon.FREQUENCY)
TIMES = {tense: parse_words(text) for tense, text in lexicon.TIMES.items()}
DETERMINERS = {plural: parse_words(text) for plural, text in lexicon.DETERMINERS.items()}
PRONOUNS = {plural: parse_words(text) for plural, text in lexicon.PRONOUNS.items()}
COUNTLESS = "drink"


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
    """A noun with what belongs to it; `modifier` makes a compound of it, `possessor` owns it."""

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
    """A sentence: one or two clauses, a time, and a place when that is said first."""

    clauses: tuple[Clause, ...]
    mark: str = "."
    time: Word | None = None
    place: Setting | None = None


class Speaker:
    """Makes up the meanings of sentences."""

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
        if kind == "resting":
            return Clause(subject_of_any, draw.zipf(RESTING), tense, negated, setting=self._place(), adverb=adverb)
        return Clause(subject_of_any, draw.zipf(MOVING), tense, negated, setting=self._way(), adverb=adverb)

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
        relation = draw.pick(("em", *lexicon.PLAIN_POSTPOSITIONS), (0.75, 0.15, 0.1))
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
        draw = self._draw
        kind = draw.pick(kinds, weights or [1.0] * len(kinds))
        nouns = NOUNS[kind]
        return draw.pick(nouns, [noun.weight for noun in nouns])

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
        """A noun with what belongs to it, each with the probability given."""
        draw = self._draw
        countless = noun.kind == COUNTLESS
        many = not countless and draw.chance(plural)
        owner = NounPhrase(self._noun(["person"]), draw.chance(0.15)) if draw.chance(possessor) else None
        determined = owner is None and not countless and draw.chance(determiner)
        modified = noun.target[0] in HEADS and draw.chance(compound)
        return NounPhrase(
            noun,
            many,
            definite=owner is not None or determined or draw.chance(definite),
            determiner=draw.zipf(DETERMINERS[many]) if determined else None,
            adjective=draw.zipf(ADJECTIVES[noun.kind]) if owner is None and draw.chance(adjective) else None,
            modifier=draw.zipf([word for word in MODIFIERS if word is not noun]) if modified else None,
            possessor=owner,
        )

    def _pronoun(self) -> Pronoun:
        plural = self._draw.chance(0.4)
        return Pronoun(self._draw.zipf(PRONOUNS[plural]), plural)

    def _name(self, person: bool) -> Name:
        draw = self._draw
        endings = lexicon.PERSON_ENDINGS if person else lexicon.PLACE_ENDINGS
        parts = endings.split()
        return Name(draw.zipf(lexicon.NAME_BEGINNINGS.split()) + draw.pick(parts, [1.0] * len(parts)))
