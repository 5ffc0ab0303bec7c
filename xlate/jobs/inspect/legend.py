"""What the parts of feature names mean."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Behind the name of each part of a family's name, what it says; numbers at the end of a part are left out.
PARTS = {
    "reordering": "together with the orientation of the phrase: M goes on, S swaps, D jumps (DL on, DR back), MG goes "
    "on behind everything",
    "plain": "of the phrase, whatever its orientation",
    "source_first": "the first source word of the phrase",
    "source_last": "the last source word of the phrase",
    "target_first": "the first target word of the phrase",
    "target_last": "the last target word of the phrase",
    "top_source_first": "the first source word of the group of phrases before",
    "top_source_last": "the last source word of the group of phrases before",
    "top_target_first": "the first target word of the group of phrases before",
    "top_target_last": "the target word before the phrase",
    "between": "a source word between the phrase and the group of phrases before",
    "source_phrase": "the whole source phrase",
    "target_phrase": "the whole target phrase",
    "pair": "source and target phrase",
    "lengths": "how many source words, and how many target words",
    "word_pair": "a source word and a target word that are aligned",
    "pair_bigram": "two such pairs that follow each other in the target",
    "insertion": "a target word that is aligned to none, with each source word of the sentence",
    "target_bigram": "two target words in a row",
    "parent_child": "an aligned source word of a rule, and one of a rule in a gap of it",
    "all": "a word by itself",
    "top": "a word among the most frequent ones",
    "class": "the class of a word: its number, and in braces the most frequent words of the class",
    "given": "the class of a word in a file of classes, and in braces the first words of the class",
    "prefix": "the first letters of a word",
    "suffix": "the last letters of a word",
    "digits": "a word with digits, @ for each of them",
    "BB": "a block and the one before",
    "TP": "the target phrases of a block and of the one before",
    "WB": "the last target word of the block before, and the first of the block",
}
# The same of names that have one part, which are those of given lists.
ALONE = {
    "ngram": "words of the translation in a row; <s> and </s> are its ends",
    "pair": "a source word and a target word",
    "length": "how many words more than the source, or than the first of the list where no source was known",
}


def legend(names: Iterable[str]) -> list[tuple[str, str]]:
    """The parts that stand in the names of some features, with what they mean, in the order of `PARTS` and `ALONE`.

    Example: `word_pair:all,class50(haus,17)` has `word_pair`, `all` and `class`.
    """
    found, alone = set[str](), set[str]()
    for name in names:
        # A family of blocks ends at the colon, others where the first value begins.
        head = name.partition(":")[0] if name[:2].isupper() else re.split(r"[=(]", name, maxsplit=1)[0]
        if head in ALONE:
            alone.add(head)
            continue
        found.update(part.rstrip("0123456789") for part in re.split(r"[:,]", head))
    explained = [(part, words) for part, words in PARTS.items() if part in found]
    return explained + [(part, words) for part, words in ALONE.items() if part in alone]
