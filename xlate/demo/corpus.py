"""The built-in corpus: any number of sentence pairs in two languages, generated from xlate's own grammar.

The source language is invented, the target language is plain English. On a small scale, the corpus has the features
that make languages hard for a phrase-based translator:

- order: the verb follows its object, the adjective its noun, the preposition its place, and an owner precedes the
  thing owned; swapping two neighbouring phrases puts each of these right, and few sentences need more than that;
- words that mean different things next to different neighbours (`nerfut` is "opens" with a door and "reads" with a
  letter, `em` is "in", "on" or "at"), so that pairs of neighbouring phrases are worth learning about;
- agreement: source determiners and adjectives follow gender and number of the noun, and some source verbs do not show
  whether "opens" or "open" is meant;
- compounds (`firnevarpa` "stone bridge"), particles and articles without a counterpart, names, and rare words, some
  of them only in the test set;
- freedom: synonyms on both sides, and several word orders, so that no translation is the only right one.

In the source language the verb comes last, adjectives follow their noun, owners precede the thing owned, and
postpositions replace prepositions. There are no articles: the particle `ri` marks a definite object and `va` a
subject, and neither has a translation. Determiners and adjectives agree with the noun in gender (its last letter) and
number. Example: `Desa kala va firna ri nufet .` is "The small sailor sees the stone."
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

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
    Speaker,
)
from xlate.demo.words import (
    COPULA,
    IRREGULAR_PASTS,
    IRREGULAR_PLURALS,
    PLAIN_POSTPOSITIONS,
    PRONOUNS,
    VOWELS,
    Token,
    Word,
    agree,
    ends_in_y,
    with_s,
)
from xlate.errors import InputError
from xlate.text.factors import FactorNames
from xlate.text.lines import write_lines

MARKS = frozenset(".,!?")
FUNCTION_WORDS = {
    "DET": {"the", "a", "an"},
    "PART": {"va", "ri", "ka", "nu", "not"},
    "AUX": {"do", "does", "did", "will", "sol"},
}
# By the last piece of the part, such as `0.subject.adjective`.
BY_ROLE = {
    "verb": "VERB",
    "adjective": "ADJ",
    "predicate": "ADJ",
    "determiner": "DET",
    "adverb": "ADV",
    "time": "ADV",
    "relation": "ADP",
    "of": "ADP",
    "and": "CONJ",
    "but": "CONJ",
}
PRONOUN_FORMS = frozenset(
    form for words in PRONOUNS.values() for word in words for form in (word.source[0], *word.target[0].split("/"))
)


def word_class(token: Token) -> str:
    """The part of speech of a token, in a sentence whose first word is not yet capitalised.

    Example:
        >>> word_class(Token("tower", "0.subject")), word_class(Token("falls", "0.verb"))
        ('NOUN', 'VERB')
    """
    if token.text in MARKS:
        return "PUNCT"
    role = token.part.rpartition(".")[2]
    if role in BY_ROLE:
        return BY_ROLE[role]
    if not token.part or role in ("ask", "not", "will"):
        return next(name for name, words in FUNCTION_WORDS.items() if token.text in words)
    if token.text in PRONOUN_FORMS:
        return "PRON"
    return "NAME" if token.text[0].isupper() else "NOUN"


Split: TypeAlias = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
# Which tenths of all sentences each split gets, by a checksum of the source side.
TENTHS: dict[Split, range] = {"train": range(8), "dev": range(8, 9), "test": range(9, 10)}
SHORTEST, LONGEST = 4, 14
REFERENCES = 2
FACTORED = FactorNames(("pos",))
SENTENCES = 10


@dataclass(frozen=True)
class DemoSentence:
    """A source sentence with two translations, as tokens.

    Attributes:
        source: the source tokens, the first capitalised, punctuation apart.
        references: two lists of target tokens; they may be equal.
        links: the word links (source, target) of the first reference, counted from 0 and sorted.
        classes: the parts of speech of the source tokens.
        reference_classes: those of the target tokens of either reference.
    """

    source: list[str]
    references: tuple[list[str], list[str]]
    links: list[tuple[int, int]]
    classes: list[str]
    reference_classes: tuple[list[str], list[str]]

    def factored(self, reference: int | None = None) -> str:
        """The source, or a reference, as a line of tokens with their parts of speech: `Talfa|ADV falran|NOUN .|PUNCT`.

        The only bars in the line are those between a word and its class.
        """
        words, classes = self.source, self.classes
        if reference is not None:
            words, classes = self.references[reference], self.reference_classes[reference]
        return FACTORED.join(words, {"pos": classes})


class DemoCorpus:
    """Sentence pairs by seed: the same seed always gives the same sentences, and more when more are requested.

    No source sentence occurs twice in a split, or in two splits, even with another seed.

    Example:
        >>> DemoCorpus(seed=1).pairs(1, "dev")
        [('Talfa falran va folla nufem.', 'Last year the teachers saw tea.')]
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def pairs(self, count: int, split: Split = "train") -> list[tuple[str, str]]:
        """Lines of source and target, as they would be in a file.

        Raises:
            InputError: the count is negative, or the split is not train, dev or test.
        """
        return [(text_of(s.source), text_of(s.references[0])) for s in self.sentences(count, split)]

    def sentences(self, count: int, split: Split = "train") -> list[DemoSentence]:
        """Tokenised sentences with references and links; raises what `pairs` raises."""
        if count < 0:
            raise InputError("a negative number of sentences", count, "0 or more")
        if split not in SPLITS:
            raise InputError("no such split", split, " or ".join(SPLITS))
        stream = self._stream(split)
        return [next(stream) for _ in range(count)]

    def write(
        self, folder: str | Path, train: int = 4000, dev: int = 300, test: int = 300, factored: bool = False
    ) -> None:
        """Writes `train.src`, `train.tgt` and so on, one sentence per line.

        The development and the test set have two references, `test.tgt.0` and `test.tgt.1`; `test.tgt` is the first.
        `factored` also writes tokens with their parts of speech, `train.factored.src` and so on, and
        `train.documents` with the name of each sentence's document; documents are `SENTENCES` long.

        Raises:
            InputError: a count is negative.
        """
        counts: dict[Split, int] = {"train": train, "dev": dev, "test": test}
        drawn = {split: self.sentences(count, split) for split, count in counts.items()}
        for split, sentences in drawn.items():
            references = {} if split == "train" else {f".{number}": number for number in range(REFERENCES)}
            files = {"src": [text_of(sentence.source) for sentence in sentences]}
            for end, number in {"": 0, **references}.items():
                files[f"tgt{end}"] = [text_of(sentence.references[number]) for sentence in sentences]
            if factored:
                files["factored.src"] = [sentence.factored() for sentence in sentences]
                for end, number in (references or {"": 0}).items():
                    files[f"factored.tgt{end}"] = [sentence.factored(number) for sentence in sentences]
                files["documents"] = [f"{split}-{row // SENTENCES}" for row in range(len(sentences))]
            for ending, lines in files.items():
                write_lines(Path(folder) / f"{split}.{ending}", lines)

    def _stream(self, split: Split) -> Iterator[DemoSentence]:
        draw = Draw(f"{self._seed} {split}")
        speaker, source_writer, target_writer = Speaker(draw), SourceWriter(draw), TargetWriter(draw)
        seen = set()
        while True:
            meaning = speaker.sentence()
            source = source_writer.sentence(meaning)
            first, second = target_writer.sentence(meaning), target_writer.sentence(meaning)
            text = " ".join(token.text for token in source)
            fits = all(SHORTEST <= len(tokens) <= LONGEST for tokens in (source, first, second))
            if fits and text not in seen and zlib.crc32(text.encode()) % 10 in TENTHS[split]:
                seen.add(text)
                yield _sentence(source, first, second)


def text_of(tokens: list[str]) -> str:
    """The tokens as a line of text: blanks between them, none before punctuation.

    Example:
        >>> text_of(["Yes", ",", "now", "."])
        'Yes, now.'
    """
    return "".join(token if token in MARKS else f" {token}" for token in tokens).strip()


def _sentence(source: list[Token], first: list[Token], second: list[Token]) -> DemoSentence:
    links = [
        (place, other)
        for place, token in enumerate(source)
        for other, translation in enumerate(first)
        if token.part and token.part == translation.part
    ]
    texts = [[token.text for token in tokens] for tokens in (source, first, second)]
    for words in texts:
        words[0] = words[0][0].upper() + words[0][1:]
    classes = [list(map(word_class, tokens)) for tokens in (source, first, second)]
    return DemoSentence(texts[0], (texts[1], texts[2]), links, classes[0], (classes[1], classes[2]))


OBJECT_FIRST = 0.04
LINK = "e"


class Writer(ABC):
    """Writes sentences in a language; `AND` joins two phrases, `BUT` two clauses."""

    AND: str
    BUT: str

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def clauses(self, sentence: Sentence) -> list[Token]:
        """The tokens of all clauses."""
        tokens = []
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
            return [*first, Token(self.AND, role + ".and"), *self._noun_phrase(participant.second, role + ".second")]
        return self._noun_phrase(participant, role)

    @abstractmethod
    def _clause(self, clause: Clause, role: str, question: bool) -> list[Token]: ...

    @abstractmethod
    def _pronoun(self, word: Word, subject: bool) -> str: ...

    @abstractmethod
    def _noun_phrase(self, phrase: NounPhrase, role: str) -> list[Token]: ...


class SourceWriter(Writer):
    """Writes sentences in the source language."""

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
        rest = []
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
        # In the present a stem in -i has the same form for a singular and a plural subject.
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
        tokens = []
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
    """Writes sentences in the target language."""

    AND, BUT = "and", "but"

    def sentence(self, sentence: Sentence) -> list[Token]:
        """The tokens of a sentence, the first not yet capitalised."""
        tokens = self.clauses(sentence)
        if sentence.time is not None:
            time = [Token(word, "time") for word in self._draw.form(sentence.time.target).split()]
            tokens = time + tokens if self._draw.chance(TIME_FIRST) else tokens + time
        if sentence.place is not None:
            place = self._setting(sentence.place, "front")
            first = self._draw.chance(PLACE_FIRST)
            tokens = [*place, Token(","), *tokens] if first else tokens + place
        tokens.append(Token(sentence.mark, "mark"))
        # `an` for `a` before a vowel.
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
        """The tokens that precede a verb, and the verb itself in its inflected form."""
        plural, tense = clause.subject.plural, clause.tense
        before = []
        if tense == "future":
            before.append(Token("will", role + "will"))
        elif question or (clause.negated and clause.verb is not COPULA):
            support = "did" if tense == "past" else "do" if plural else "does"
            before.append(Token(support, "ask" if question else role + "not"))
        if clause.negated:
            before.append(Token("not", role + "not"))
        verb = self._draw.form(clause.verb.target)
        if not before:
            regular = verb[:-1] + "ied" if ends_in_y(verb) else verb.removesuffix("e") + "ed"
            past, present = IRREGULAR_PASTS.get(verb, regular), verb if plural else with_s(verb)
            if verb == "be":
                past, present = ("were", "are") if plural else ("was", "is")
            verb = past if tense == "past" else present
        return before, Token(verb, role + "verb")

    def _setting(self, setting: Setting, role: str) -> list[Token]:
        words, kind, preposition = self._participant(setting.ground, role), "", "in"
        if isinstance(setting.ground, NounPhrase):
            kind, preposition = setting.ground.noun.kind, setting.ground.noun.preposition
        # The prepositions for three postpositions depend on the noun.
        ani, dor = "by" if kind == "vehicle" else "with", "into" if kind == "building" else "to"
        found = {**PLAIN_POSTPOSITIONS, "em": preposition, "ani": ani, "dor": dor}[setting.relation]
        return [Token(found, role + ".relation"), *words[found == "by" and words[0] == Token("the") :]]

    def _pronoun(self, word: Word, subject: bool) -> str:
        return word.target[0].split("/")[0 if subject else 1]

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> list[Token]:
        tokens = []
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
