"""How the built-in source language says a sentence.

The verb stands last, adjectives behind their noun, owners in front of what they own, and there are postpositions in
place of prepositions. There are no articles: the particle `ri` marks a definite object and `va` a subject, and neither
has a translation. Determiners and adjectives agree with the noun in gender (its last letter) and number.

Example: `Desa kala va firna ri nufet .` is "The small sailor sees the stone."
"""

from __future__ import annotations

from xlate.demo.draw import Draw
from xlate.demo.meaning import Clause, Couple, Name, NounPhrase, Participant, Pronoun, Sentence, Setting
from xlate.demo.words import Token, agree, source_noun, source_verb

OBJECT_FIRST = 0.04
LINK = "e"


class SourceWriter:
    """Says sentences in the source language."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def sentence(self, sentence: Sentence) -> list[Token]:
        """The tokens of a sentence, the first not yet capitalised."""
        tokens = [Token("ka", "ask")] if sentence.mark == "?" else []
        if sentence.time is not None:
            tokens.append(Token(self._draw.form(sentence.time.source), "time"))
        if sentence.place is not None:
            tokens += self._setting(sentence.place, "front")
        for number, clause in enumerate(sentence.clauses):
            if number:
                tokens += [Token(",", "comma"), Token("oda", "but")]
            tokens += self._clause(clause, f"{number}.")
        return [*tokens, Token(sentence.mark, "mark")]

    def _clause(self, clause: Clause, role: str) -> list[Token]:
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
        return subject + rest + self._verb(clause, role)

    def _verb(self, clause: Clause, role: str) -> list[Token]:
        form = source_verb(self._draw.form(clause.verb.source), clause.tense, clause.subject.plural)
        tokens = [Token(form, role + "verb")]
        if clause.tense == "future":
            tokens.append(Token("sol", role + "will"))
        if clause.negated:
            tokens.append(Token("nu", role + "not"))
        return tokens

    def _setting(self, setting: Setting, role: str) -> list[Token]:
        return [*self._participant(setting.ground, role), Token(setting.relation, role + ".relation")]

    def _participant(self, participant: Participant, role: str) -> list[Token]:
        if isinstance(participant, Name):
            return [Token(participant.text, role)]
        if isinstance(participant, Pronoun):
            return [Token(participant.word.source[0], role)]
        if isinstance(participant, Couple):
            first = self._noun_phrase(participant.first, role + ".first")
            return [*first, Token("pru", role + ".and"), *self._noun_phrase(participant.second, role + ".second")]
        return self._noun_phrase(participant, role)

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> list[Token]:
        noun = self._draw.form(phrase.noun.source)
        tokens: list[Token] = []
        if phrase.possessor is not None:
            tokens = [*self._noun_phrase(phrase.possessor, role + ".owner"), Token("no", role + ".of")]
        if phrase.determiner is not None:
            determiner = agree(phrase.determiner.source[0], noun, phrase.plural)
            tokens.append(Token(determiner, role + ".determiner"))
        first = "" if phrase.modifier is None else self._draw.form(phrase.modifier.source)[:-1] + LINK
        tokens.append(Token(first + source_noun(noun, phrase.plural), role))
        if phrase.adjective is not None:
            adjective = agree(phrase.adjective.source[0], noun, phrase.plural)
            tokens.append(Token(adjective, role + ".adjective"))
        return tokens
