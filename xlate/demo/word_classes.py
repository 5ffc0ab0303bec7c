"""Parts of speech of the built-in corpus, told by the part of the meaning that a word stands for."""

from __future__ import annotations

from collections.abc import Sequence

from xlate.demo.meaning import PRONOUNS
from xlate.demo.words import Token

MARKS = frozenset(".,!?")
ARTICLES = frozenset({"the", "a", "an"})
PARTICLES = frozenset({"va", "ri", "ka", "nu", "not"})
AUXILIARIES = frozenset({"do", "does", "did", "will", "sol"})
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


def word_classes(tokens: Sequence[Token]) -> list[str]:
    """The part of speech of each token of a sentence, the first not yet capitalised.

    Example:
        >>> word_classes([Token("the"), Token("tower", "0.subject"), Token("falls", "0.verb"), Token(".", "mark")])
        ['DET', 'NOUN', 'VERB', 'PUNCT']
    """
    return [_word_class(token) for token in tokens]


def _word_class(token: Token) -> str:
    if token.text in MARKS:
        return "PUNCT"
    role = token.part.rpartition(".")[2]
    if role in BY_ROLE:
        return BY_ROLE[role]
    if not token.part or role in ("ask", "not", "will"):
        groups = {"DET": ARTICLES, "PART": PARTICLES, "AUX": AUXILIARIES}
        return next(name for name, words in groups.items() if token.text in words)
    if token.text in PRONOUN_FORMS:
        return "PRON"
    return "NAME" if token.text[0].isupper() else "NOUN"
