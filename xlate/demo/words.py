"""The words of the built-in language pair as objects, and how they are inflected in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xlate.demo import lexicon

RARITY = 15.0
VOWELS = "aeiou"
IRREGULAR_PLURALS = dict(pair.split("=") for pair in lexicon.IRREGULAR_PLURALS.split())
IRREGULAR_PASTS = dict(pair.split("=") for pair in lexicon.IRREGULAR_PASTS.split())


@dataclass(frozen=True)
class Token:
    """A word and the part of the meaning it stands for; words of either side with the same part translate each other.

    The part is empty for a word that has nothing on the other side.
    """

    text: str
    part: str = ""


@dataclass(frozen=True)
class Word:
    """A word with the forms that may stand for it on either side, the usual one first."""

    source: tuple[str, ...]
    target: tuple[str, ...]


@dataclass(frozen=True)
class Noun(Word):
    """A noun of a class, what `em` becomes in front of it, and how often it is used."""

    kind: str
    preposition: str
    weight: float


@dataclass(frozen=True)
class Selecting(Word):
    """A verb or an adjective with the classes of nouns that it goes with."""

    kinds: frozenset[str]


def parse_words(text: str) -> list[Word]:
    """The words of a line of the lexicon; `_` in a target becomes a blank."""
    return [_word(entry) for entry in text.split()]


def parse_nouns(text: str, kind: str) -> list[Noun]:
    """The nouns of a class, those behind the tilde with a small weight."""
    common, _, rare = text.partition("~")
    entries = [(entry, 1.0) for entry in common.split()] + [(entry, 1 / RARITY) for entry in rare.split()]
    nouns = []
    for rank, (entry, share) in enumerate(entries):
        names, _, preposition = entry.partition("/")
        word = _word(names)
        nouns.append(Noun(word.source, word.target, kind, preposition or "in", share / (rank + 2)))
    return nouns


def parse_selecting(text: str) -> Iterator[Selecting]:
    """Verbs or adjectives, one a line, with the groups of classes they go with."""
    for line in text.strip().splitlines():
        entry, *groups = line.split()
        kinds = frozenset(kind for group in groups for kind in lexicon.GROUPS.get(group, (group,)))
        word = _word(entry)
        yield Selecting(word.source, word.target, kinds)


def _word(entry: str) -> Word:
    source, _, target = entry.partition("=")
    return Word(tuple(source.split("|")), tuple(target.replace("_", " ").split("|")))


def agree(stem: str, noun: str, plural: bool) -> str:
    """A source adjective or determiner with the ending of a source noun in the singular (`-a`, `-o`)."""
    return stem + noun[-1] + ("n" if plural else "")


def source_noun(form: str, plural: bool) -> str:
    """A source noun in its number."""
    return form + "n" if plural else form


def source_verb(stem: str, tense: str, plural: bool) -> str:
    """A source verb; in the present a stem in -i has the same form for one subject and for many."""
    if tense == "past":
        return stem + "m"
    if tense == "future":
        return stem + "r"
    if stem.endswith("i"):
        return stem + "s"
    return stem + ("ne" if plural else "t")


def plural_of(noun: str) -> str:
    """The plural of an English noun.

    Example:
        >>> plural_of("box"), plural_of("diary"), plural_of("child")
        ('boxes', 'diaries', 'children')
    """
    return IRREGULAR_PLURALS.get(noun) or _with_s(noun)


def third_person(verb: str) -> str:
    """An English verb of the present behind one subject: `carries`."""
    return _with_s(verb)


def past_of(verb: str) -> str:
    """An English verb in the past: `carried`, `wrote`."""
    if verb in IRREGULAR_PASTS:
        return IRREGULAR_PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if _ends_in_y(verb):
        return verb[:-1] + "ied"
    return verb + "ed"


def _with_s(word: str) -> str:
    if _ends_in_y(word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _ends_in_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS
