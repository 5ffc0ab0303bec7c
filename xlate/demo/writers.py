"""How the two built-in languages say a sentence.

In the source language the verb stands last, adjectives behind their noun, owners in front of what they own, and there
are postpositions in place of prepositions. There are no articles: the particle `ri` marks a definite object and `va` a
subject, and neither has a translation. Determiners and adjectives agree with the noun in gender (its last letter) and
number. Example: `Desa kala va firna ri nufet .` is "The small sailor sees the stone."

The target language is a plain English, in which the same meaning may come out in several ways: a word has synonyms, and
times and places stand first or last. So no translation can match a reference for certain, and two references of one
sentence differ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from xlate.demo.meaning import (
    COUNTLESS,
    Clause,
    Couple,
    Draw,
    Name,
    NounPhrase,
    Participant,
    Pronoun,
    Sentence,
    Setting,
)
from xlate.demo.words import (
    COPULA,
    IRREGULAR_PASTS,
    IRREGULAR_PLURALS,
    PLAIN_POSTPOSITIONS,
    VOWELS,
    Token,
    Word,
    agree,
    ends_in_y,
    with_s,
)

OBJECT_FIRST = 0.04
LINK = "e"


class Writer(ABC):
    """Says sentences in a language, with this word between two that are joined, and this one between two clauses."""

    AND: str
    BUT: str

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def clauses(self, sentence: Sentence) -> list[Token]:
        """The tokens of all clauses."""
        tokens: list[Token] = []
        for number, clause in enumerate(sentence.clauses):
            if number:
                tokens += [Token(",", "comma"), Token(self.BUT, "but")]
            tokens += self._clause(clause, f"{number}.", sentence.mark == "?")
        return tokens

    def _participant(self, participant: Participant, role: str, subject: bool = False) -> list[Token]:
        if isinstance(participant, Name):
            return [Token(participant.text, role)]
        if isinstance(participant, Pronoun):
            return [Token(self._pronoun(participant.word, subject), role)]
        if isinstance(participant, Couple):
            first = self._noun_phrase(participant.first, role + ".first")
            joined = self._noun_phrase(participant.second, role + ".second")
            return [*first, Token(self.AND, role + ".and"), *joined]
        return self._noun_phrase(participant, role)

    @abstractmethod
    def _clause(self, clause: Clause, role: str, question: bool) -> list[Token]: ...

    @abstractmethod
    def _pronoun(self, word: Word, subject: bool) -> str: ...

    @abstractmethod
    def _noun_phrase(self, phrase: NounPhrase, role: str) -> list[Token]: ...


class SourceWriter(Writer):
    """Says sentences in the source language."""

    AND, BUT = "pru", "oda"

    def sentence(self, sentence: Sentence) -> list[Token]:
        """The tokens of a sentence, the first not yet capitalised."""
        tokens = [Token("ka", "ask")] if sentence.mark == "?" else []
        if sentence.time is not None:
            tokens.append(Token(self._draw.form(sentence.time.source), "time"))
        if sentence.place is not None:
            tokens += self._setting(sentence.place, "front")
        return [*tokens, *self.clauses(sentence), Token(sentence.mark, "mark")]

    def _clause(self, clause: Clause, role: str, question: bool) -> list[Token]:  # noqa: ARG002
        particle = [] if isinstance(clause.subject, Pronoun) else [Token("va")]
        subject = self._participant(clause.subject, role + "subject") + particle
        if clause.adverb is not None:
            subject.append(Token(self._draw.form(clause.adverb.source), role + "adverb"))
        rest: list[Token] = []
        if clause.object is not None:
            rest = self._participant(clause.object, role + "object")
            if not isinstance(clause.object, NounPhrase) or clause.object.definite:
                rest.append(Token("ri"))
        if clause.setting is not None:
            rest = self._setting(clause.setting, role + "setting")
        if clause.predicate is not None and isinstance(clause.subject, NounPhrase):
            ending = self._draw.form(clause.subject.noun.source)
            rest = [Token(agree(clause.predicate.source[0], ending, clause.subject.plural), role + "predicate")]
        if clause.object is not None and self._draw.chance(OBJECT_FIRST):
            subject, rest = rest, subject
        stem, many = self._draw.form(clause.verb.source), clause.subject.plural
        # In the present a stem in -i has the same form for one subject and for many.
        present = "s" if stem.endswith("i") else "ne" if many else "t"
        form = stem + {"past": "m", "future": "r", "present": present}[clause.tense]
        will = [Token("sol", role + "will")] * (clause.tense == "future")
        return [*subject, *rest, Token(form, role + "verb"), *will, *[Token("nu", role + "not")] * clause.negated]

    def _setting(self, setting: Setting, role: str) -> list[Token]:
        return [*self._participant(setting.ground, role), Token(setting.relation, role + ".relation")]

    def _pronoun(self, word: Word, subject: bool) -> str:  # noqa: ARG002
        return word.source[0]

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> list[Token]:
        noun = self._draw.form(phrase.noun.source)
        tokens: list[Token] = []
        if phrase.possessor is not None:
            tokens = [*self._noun_phrase(phrase.possessor, role + ".owner"), Token("no", role + ".of")]
        if phrase.determiner is not None:
            determiner = agree(phrase.determiner.source[0], noun, phrase.plural)
            tokens.append(Token(determiner, role + ".determiner"))
        first = "" if phrase.modifier is None else self._draw.form(phrase.modifier.source)[:-1] + LINK
        tokens.append(Token(first + noun + "n" * phrase.plural, role))
        if phrase.adjective is not None:
            adjective = agree(phrase.adjective.source[0], noun, phrase.plural)
            tokens.append(Token(adjective, role + ".adjective"))
        return tokens


TIME_FIRST, PLACE_FIRST = 0.75, 0.85


class TargetWriter(Writer):
    """Says sentences in the target language."""

    AND, BUT = "and", "but"

    def sentence(self, sentence: Sentence) -> list[Token]:
        """The tokens of a sentence, the first not yet capitalised."""
        tokens = self.clauses(sentence)
        if sentence.time is not None:
            words = self._draw.form(sentence.time.target).split()
            time = [Token(word, "time") for word in words]
            tokens = time + tokens if self._draw.chance(TIME_FIRST) else tokens + time
        if sentence.place is not None:
            place = self._setting(sentence.place, "front")
            first = self._draw.chance(PLACE_FIRST)
            tokens = [*place, Token(","), *tokens] if first else tokens + place
        tokens.append(Token(sentence.mark, "mark"))
        # `an` for `a` in front of a vowel.
        return [
            Token("an") if token == Token("a") and tokens[place + 1].text[0] in VOWELS else token
            for place, token in enumerate(tokens)
        ]

    def _clause(self, clause: Clause, role: str, question: bool) -> list[Token]:
        before, verb = self._verb(clause, role, question)
        tokens = self._participant(clause.subject, role + "subject", subject=True)
        tokens = before + tokens if question else tokens + before
        if clause.adverb is not None:
            tokens.append(Token(self._draw.form(clause.adverb.target), role + "adverb"))
        tokens.append(verb)
        if clause.object is not None:
            tokens += self._participant(clause.object, role + "object")
        if clause.setting is not None:
            tokens += self._setting(clause.setting, role + "setting")
        if clause.predicate is not None:
            tokens.append(Token(self._draw.form(clause.predicate.target), role + "predicate"))
        return tokens

    def _verb(self, clause: Clause, role: str, question: bool) -> tuple[list[Token], Token]:
        """What goes with a verb in front of it, and the verb itself in its form."""
        plural, tense = clause.subject.plural, clause.tense
        before: list[Token] = []
        if tense == "future":
            before.append(Token("will", role + "will"))
        elif question or (clause.negated and clause.verb is not COPULA):
            support = "did" if tense == "past" else "do" if plural else "does"
            before.append(Token(support, "ask" if question else role + "not"))
        if clause.negated:
            before.append(Token("not", role + "not"))
        base = self._draw.form(clause.verb.target)
        return before, Token(base if before else _finite(base, tense, plural), role + "verb")

    def _setting(self, setting: Setting, role: str) -> list[Token]:
        words = self._participant(setting.ground, role)
        preposition = _preposition(setting)
        if preposition == "by" and words[0] == Token("the"):
            words = words[1:]
        return [Token(preposition, role + ".relation"), *words]

    def _pronoun(self, word: Word, subject: bool) -> str:
        return word.target[0].split("/")[0 if subject else 1]

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> list[Token]:
        tokens: list[Token] = []
        if phrase.determiner is not None:
            tokens.append(Token(phrase.determiner.target[0], role + ".determiner"))
        elif phrase.definite:
            tokens.append(Token("the"))
        elif not phrase.plural and phrase.noun.kind != COUNTLESS:
            tokens.append(Token("a"))
        if phrase.adjective is not None:
            tokens.append(Token(self._draw.form(phrase.adjective.target), role + ".adjective"))
        if phrase.modifier is not None:
            tokens.append(Token(self._draw.form(phrase.modifier.target), role))
        noun = self._draw.form(phrase.noun.target)
        tokens.append(Token((IRREGULAR_PLURALS.get(noun) or with_s(noun)) if phrase.plural else noun, role))
        if phrase.possessor is not None:
            tokens += [Token("of", role + ".of"), *self._noun_phrase(phrase.possessor, role + ".owner")]
        return tokens


def _finite(verb: str, tense: str, plural: bool) -> str:
    if verb == "be":
        return {"past": ("was", "were"), "present": ("is", "are")}[tense][plural]
    if tense == "past":
        regular = verb[:-1] + "ied" if ends_in_y(verb) else verb.removesuffix("e") + "ed"
        return IRREGULAR_PASTS.get(verb, regular)
    return verb if plural else with_s(verb)


def _preposition(setting: Setting) -> str:
    """The preposition in place of a postposition: of three, the noun tells which."""
    kind, preposition = "", "in"
    if isinstance(setting.ground, NounPhrase):
        kind, preposition = setting.ground.noun.kind, setting.ground.noun.preposition
    ani, dor = "by" if kind == "vehicle" else "with", "into" if kind == "building" else "to"
    return {**PLAIN_POSTPOSITIONS, "em": preposition, "ani": ani, "dor": dor}[setting.relation]
