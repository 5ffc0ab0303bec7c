"""Grammars and rule tables: which rules of a grammar are in target normal form, and the one made of the other.

Target normal form: a phrase of one word or more, then the non-terminals; at most two, of one label (Watanabe et al.
2007, Eq. 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, Side
from xlate.phrases.extract import number_phrases
from xlate.phrases.rules import GAP, MOST_GAPS, RuleTable
from xlate.phrases.table import DIRECT_PHRASE
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import BEGIN, Vocabulary

LN10 = float(np.log(10.0))
# What stands for the logarithm of 0, as in Moses.
FLOOR = -100.0
# How a feature gives a probability, and is given by one.
SCALES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "probability": (lambda value: value, 0.0),
    "ln": (np.exp, 1.0),
    "-ln": (lambda value: np.exp(-value), -1.0),
    "log10": (lambda value: np.exp(LN10 * value), 1 / LN10),
    "-log10": (lambda value: np.exp(-LN10 * value), -1 / LN10),
}
# The names that the scores of a rule table have in a grammar.
SCORES = ("InversePhrase", "InverseLexical", "DirectPhrase", "DirectLexical")


class NormalShare(NamedTuple):
    """How many rules of a grammar there are, have non-terminals, are in target normal form, and both."""

    rules: int
    hierarchical: int
    normal: int
    normal_hierarchical: int

    def __str__(self) -> str:
        """For reading, with shares in per cent."""
        per_cent = [100 * part / max(whole, 1) for part, whole in ((self[2], self[0]), (self[3], self[1]))]
        return (
            f"{self.normal} of {self.rules} rules ({per_cent[0]:.1f} %) are in target normal form, "
            f"{self.normal_hierarchical} of the {self.hierarchical} with non-terminals ({per_cent[1]:.1f} %)"
        )


class NormalRules(NamedTuple):
    """The rules of a grammar that are in target normal form, as a table.

    Attributes:
        table: B rules; its four scores are those that were asked for.
        source_vocabulary: numbers the words of its source sides.
        target_vocabulary: the same for the target.
        rows_B: the number of each rule in the grammar, so that `grammar.dense_BD[rows_B]` are its features.
        share: of the grammar that these rules are.
    """

    table: RuleTable
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    rows_B: Ints
    share: NormalShare


def in_normal_form(rule: ScfgRule, label: str = "X") -> bool:
    """Whether a rule is in target normal form, with one label for the left side and all non-terminals."""
    return normal_form_fault(rule, label) is None


def normal_form_fault(rule: ScfgRule, label: str = "X") -> str | None:
    """What keeps a rule from target normal form, None when nothing does."""
    gaps = rule.gaps
    phrase = len(rule.target) - gaps
    if rule.lhs != label or any(symbol.label != label for symbol in rule.target if isinstance(symbol, Gap)):
        return f"another label than {label}"
    if BEGIN in rule.source:
        return f"{BEGIN} in the source"
    if gaps > MOST_GAPS:
        return f"more than {MOST_GAPS} non-terminals"
    if not phrase:
        return "no word in the target"
    behind = any(isinstance(symbol, Gap) for symbol in rule.target[:phrase])
    return "a target word behind a non-terminal" if behind else None


def normal_form_faults(grammar: Scfg, label: str = "X") -> list[str]:
    """What keeps rules of a grammar from target normal form, the most frequent first.

    Example: `23 rules: a target word behind a non-terminal, such as X → ne [X,1] pas | do [X,1] not`
    """
    found: dict[str, list[ScfgRule]] = {}
    for rule in grammar.rules:
        fault = normal_form_fault(rule, label)
        if fault is not None:
            found.setdefault(fault, []).append(rule)
    by_number = sorted(found.items(), key=lambda each: -len(each[1]))
    return [f"{len(rules)} rules: {fault}, such as {rules[0]}" for fault, rules in by_number]


def normal_share(grammar: Scfg, label: str = "X") -> NormalShare:
    """How much of a grammar is in target normal form."""
    normal = [in_normal_form(rule, label) for rule in grammar.rules]
    gapped = [Gap in map(type, rule.source) for rule in grammar.rules]
    both = sum(one and two for one, two in zip(normal, gapped, strict=True))
    return NormalShare(len(grammar), sum(gapped), sum(normal), both)


def normal_rules(
    grammar: Scfg,
    scores: Sequence[str],
    scale: str,
    label: str = "X",
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
) -> NormalRules:
    """The rules in target normal form as a rule table; of rules that are spelled alike the one of the largest p(b̄β|γ).

    Args:
        grammar: of any system.
        scores: the names of the features that become p(γ|b̄β), lex(γ|b̄β), p(b̄β|γ) and lex(b̄β|γ).
        scale: what they are: `probability`, `ln`, `-ln`, `log10` or `-log10` of it.
        label: of the non-terminals.
        vocabularies: of source and target; None makes those of the rules.

    Raises:
        InputError: the grammar lacks a feature, a score is below 0 or infinite, or a vocabulary lacks a word.
    """
    rows = [b for b, rule in enumerate(grammar.rules) if in_normal_form(rule, label)]
    rules = [grammar.rules[b] for b in rows]
    scores_B4 = _scores(grammar, scores, scale)[rows]
    _check_scores(rules, scores_B4)
    phrases = [rule.target_words for rule in rules]
    source_words = [rule.source_words for rule in rules]
    source_vocabulary, target_vocabulary = vocabularies or (Vocabulary.build(source_words), Vocabulary.build(phrases))
    sources, source_B = _numbered([rule.source for rule in rules], source_vocabulary)
    targets, target_B = _numbered(phrases, target_vocabulary)
    swapped_B = np.array([_swapped(rule) for rule in rules], dtype=np.bool_)
    order = np.lexsort((-scores_B4[:, DIRECT_PHRASE], swapped_B, target_B, source_B))
    keys_B3 = np.stack([source_B, target_B, swapped_B], axis=1)[order]
    order = order[np.append(True, (keys_B3[1:] != keys_B3[:-1]).any(axis=1))[: len(order)]]
    links = [sorted(rules[b].links, key=lambda link: (link[1], link[0])) for b in order]
    links_K2 = np.array([link for each in links for link in each], dtype=np.int16).reshape(-1, 2)
    rows_B = np.array(rows, dtype=np.int64)[order]
    table = RuleTable(
        source_sides=sources,
        target_phrases=targets,
        source_B=source_B[order],
        target_B=target_B[order],
        swapped_B=swapped_B[order],
        count_B=np.ones(len(order)) if grammar.count_B is None else grammar.count_B[rows_B],
        scores_B4=scores_B4[order],
        link_offsets_B1=offsets_of([len(each) for each in links]),
        link_source_K=links_K2[:, 0].copy(),
        link_target_K=links_K2[:, 1].copy(),
        # Grammars do not say which words no word across makes likely.
        insertion_B=np.zeros(len(order), dtype=np.int16),
        deletion_B=np.zeros(len(order), dtype=np.int16),
    )
    return NormalRules(table, source_vocabulary, target_vocabulary, rows_B, normal_share(grammar, label))


def grammar_of(
    table: RuleTable, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary, scale: str, label: str = "X"
) -> Scfg:
    """A rule table as a grammar, with the four scores as features `SCORES` on a scale, and the counts.

    Moses wants `probability`, cdec and Joshua any logarithm; the logarithm of 0 is -100.

    Raises:
        InputError: there is no such scale.
    """
    _, factor = _scale(scale)
    with np.errstate(divide="ignore"):
        logs_B4 = np.maximum(np.log(table.scores_B4), FLOOR)
    dense_BD = logs_B4 * factor + 0.0 if factor else table.scores_B4.copy()
    rules = []
    for b, (s, t, swapped) in enumerate(
        zip(table.source_B.tolist(), table.target_B.tolist(), table.swapped_B.tolist(), strict=True)
    ):
        source = _spelled(table.source_sides[s].tolist(), source_vocabulary, label)
        gaps = [symbol for symbol in source if isinstance(symbol, Gap)]
        phrase = [target_vocabulary.word(word) for word in table.target_phrases[t].tolist()]
        target: Side = (*phrase, *(gaps[::-1] if swapped else gaps))
        rules.append(ScfgRule(label, source, target, tuple(table.links(b))))
    return Scfg(rules, SCORES, dense_BD, count_B=table.count_B.copy())


def log_scores(grammar: Scfg) -> Scfg:
    """A grammar whose columns are natural logarithms of what they were, as Moses takes them; that of 0 is -100.

    Raises:
        InputError: a feature in a column is below 0.
    """
    if (grammar.dense_BD < 0).any():
        b = int(np.argmax((grammar.dense_BD < 0).any(axis=1)))
        raise grammar.error(b, "no probability", f"{grammar.rules[b]}: {grammar.dense_BD[b]}", "0 or more")
    with np.errstate(divide="ignore"):
        logs_BD = np.maximum(np.log(grammar.dense_BD), FLOOR)
    return replace(grammar, dense_BD=logs_BD)


def _scale(name: str) -> tuple[Callable[[Floats], Floats], float]:
    if name not in SCALES:
        raise InputError("no such scale", seen=name, expected=", ".join(SCALES))
    return SCALES[name]


def _scores(grammar: Scfg, names: Sequence[str], scale: str) -> Floats:
    columns = {name: column for name in names if (column := grammar.column(name)) is not None}
    missing = [name for name in names if name not in columns]
    if (missing and len(grammar)) or len(names) != len(SCORES):
        raise InputError(
            "features that the grammar does not have",
            seen=", ".join(missing) or f"{len(names)} names",
            expected=f"four of {', '.join(grammar.names)}",
            remedy="say which features are p(f|e), lex(f|e), p(e|f) and lex(e|f)",
        )
    probability, _ = _scale(scale)
    values_B4 = np.stack([columns.get(name, np.zeros(len(grammar))) for name in names], axis=1)
    with np.errstate(over="ignore"):
        return probability(values_B4)


def _check_scores(rules: list[ScfgRule], scores_B4: Floats) -> None:
    bad = ~((scores_B4 >= 0) & (scores_B4 < np.inf)).all(axis=1)
    if bad.any():
        b = int(np.argmax(bad))
        raise InputError(
            "scores out of range",
            seen=f"{rules[b]}: {' '.join(f'{value:g}' for value in scores_B4[b])}",
            expected="finite numbers of 0 or above",
            remedy="check which features were named, and on which scale they are",
        )


def _swapped(rule: ScfgRule) -> bool:
    """Whether the non-terminals of the target come from right to left of the source."""
    numbers = [symbol.number for symbol in rule.target if isinstance(symbol, Gap)]
    return numbers != sorted(numbers)


def _numbered(sides: Sequence[Sequence[object]], vocabulary: Vocabulary) -> tuple[EncodedText, Ints32]:
    """The distinct sides as the rows of a table, and the row of each."""
    numbers = {symbol: vocabulary.id(symbol) for side in sides for symbol in side if isinstance(symbol, str)}
    missing = next((word for word in numbers if word not in vocabulary), None)
    if missing is not None:
        raise InputError(
            "a word that the vocabulary lacks",
            seen=missing,
            expected="a grammar of the same corpus as the vocabulary",
            remedy="make the table without giving vocabularies",
        )
    rows = [np.array([numbers.get(symbol, GAP) for symbol in side], dtype=np.int32) for side in sides]  # type: ignore[call-overload]
    return number_phrases(EncodedText.from_ids(rows))


def _spelled(side: list[int], vocabulary: Vocabulary, label: str) -> Side:
    """A source side in words, its gaps numbered from 1."""
    numbers = iter(range(1, MOST_GAPS + 1))
    return tuple(Gap(label, next(numbers)) if word == GAP else vocabulary.word(word) for word in side)
