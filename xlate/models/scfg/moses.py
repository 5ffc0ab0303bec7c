"""A hierarchical system of Moses as it stands in its configuration: rule tables, language model, weights for CKY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from xlate.errors import InputError
from xlate.formats.moses_ini import FeatureLine, MosesIni, read_moses_ini
from xlate.formats.scfg.grammar import Scfg
from xlate.formats.scfg.moses_rules import read_moses_grammar
from xlate.formats.scfg.normal_form import FLOOR, log_scores
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.scfg.decoder import COPIES, LANGUAGE, WORDS, CkyDecoder
from xlate.models.scfg.rules import Leaf, Node, SynchronousGrammar
from xlate.text.numbers import parse_int
from xlate.text.vocabulary import END

# Moses's number of the search of hierarchical systems.
CHART = 3
TABLE, MODELS = "PhraseDictionaryMemory", ("KENLM", "SRILM", "IRSTLM")
WORD_PENALTY, RULE_PENALTY, UNKNOWN = "WordPenalty", "PhrasePenalty", "UnknownWordPenalty"
# Moses's own limits: of spans, of rules of one source side; and its label.
SPAN, RULES, LABEL = 10, 20, "X"
REFUSED = ("weight-file", "unknown-lhs", "drop-unknown")


def is_hierarchical(ini: MosesIni) -> bool:
    """Whether a configuration is that of a hierarchical system."""
    return ini.whole("search-algorithm", 0) == CHART


def open_moses_system(path: str | Path, pops: int | None) -> CkyDecoder:
    """The decoder of a hierarchical moses.ini, with Moses's scores.

    Rules are logarithms of what the tables say, each with the phrase penalty; a copied word counts -100 and the phrase
    penalty (Moses's `ChartParser`). Of the rules of one source side those are kept that Moses would keep, by
    `table-limit`. Moses's own pop limit, of all labels of a span, is not taken.

    Args:
        path: of the configuration.
        pops: hypotheses for each label over each span.

    Raises:
        InputError: a file is missing or cannot be used, the system is no hierarchical one, or has features or settings
            that are not known here.
    """
    ini = read_moses_ini(path)
    tables = _checked(ini)
    penalties = {kind: _weight(ini, kind) for kind in (WORD_PENALTY, RULE_PENALTY, UNKNOWN)}
    weights = {
        WORDS: -penalties[WORD_PENALTY],
        COPIES: FLOOR * penalties[UNKNOWN] + penalties[RULE_PENALTY],
        RULE_PENALTY: penalties[RULE_PENALTY],
    }
    parts = []
    for line, span in zip(tables, _spans(ini, len(tables)), strict=True):
        scfg = log_scores(read_moses_grammar(ini.file(line), line.name, unescape=False))
        # Each rule counts once.
        scfg = scfg.with_column(RULE_PENALTY, np.ones(len(scfg)))
        weights |= zip(scfg.names[:-1], ini.weight(line.name, len(scfg.names) - 1), strict=True)
        parts.append((scfg, span))
    label = ini.settings.get("non-terminals", (LABEL,))[0]
    grammar = SynchronousGrammar(parts, _goal(ini, parts), label)
    model = ini.find(*MODELS)
    if model is not None:
        weights[LANGUAGE] = ini.weight(model.name, 1)[0]
    lm = None if model is None else NgramModel.from_arpa(read_arpa(ini.file(model)))
    return _limited(CkyDecoder(grammar, weights, lm, pops), ini, tables, [len(scfg) for scfg, _ in parts])


def _checked(ini: MosesIni) -> list[FeatureLine]:
    """The rule tables, when the system is one that can be used."""
    if not is_hierarchical(ini):
        raise InputError(
            "a phrase system",
            file=ini.path,
            seen=f"[search-algorithm] {ini.whole('search-algorithm', 0)}",
            expected=f"a hierarchical one, [search-algorithm] {CHART}",
            remedy="xlate import moses=FILE out=RUN makes a run of it",
        )
    known = (TABLE, *MODELS, WORD_PENALTY, RULE_PENALTY, UNKNOWN)
    for line in ini.features:
        if line.kind not in known:
            message, expected = "a feature this decoder has not", ", ".join(known)
            raise InputError(message, file=ini.path, line=line.line, seen=line.kind, expected=expected)
    for name in REFUSED:
        if name in ini.settings:
            raise InputError("a setting that is not known here", file=ini.path, seen=f"[{name}]", expected="none")
    tables = [line for line in ini.features if line.kind == TABLE]
    if not tables:
        raise InputError("a feature is missing", file=ini.path, expected=TABLE)
    return tables


def _weight(ini: MosesIni, kind: str) -> float:
    """The weight of a feature that a system has once or not at all."""
    line = ini.find(kind)
    return 0.0 if line is None else ini.weight(line.name, 1)[0]


def _spans(ini: MosesIni, tables: int) -> list[int | None]:
    """The most source words that the rules of each table cover, `<s>` and `</s>` counted; None for any number."""
    lines = ini.settings.get("max-chart-span", ())
    try:
        given = [parse_int(line) for line in lines]
    except ValueError as error:
        seen, expected = " ".join(lines), "whole numbers, one a table"
        raise InputError("section [max-chart-span]", file=ini.path, seen=seen, expected=expected) from error
    return [span or None for span in [*given, *[SPAN] * tables][:tables]]


def _goal(ini: MosesIni, parts: Sequence[tuple[Scfg, int | None]]) -> str:
    """The label of a whole sentence: that of the rules that end in `</s>`."""
    found = {rule.lhs for scfg, _ in parts for rule in scfg.rules if rule.source[-1] == END}
    if len(found) != 1:
        raise InputError(
            "no glue grammar",
            file=ini.path,
            seen=f"rules that end in {END} for {', '.join(sorted(found)) or 'no label'}",
            expected=f"a table with rules for one label, such as [X][S] {END} [X] ||| [X][S] {END} [S] ||| 1 ||| 0-0",
        )
    return found.pop()


def _limited(decoder: CkyDecoder, ini: MosesIni, tables: Sequence[FeatureLine], sizes: Sequence[int]) -> CkyDecoder:
    """The decoder of the rules that each table keeps of one source side: the most promising ones."""
    limits = [ini.argument(line, "table-limit", RULES) for line in tables]
    table_B = np.repeat(np.arange(len(tables)), sizes).tolist()
    kept: list[int] = []
    for leaf in _leaves(decoder.grammar.root):
        best = sorted((option.rule for option in decoder.ranked(leaf.rules)), key=table_B.__getitem__)
        for table, rules in groupby(best, key=table_B.__getitem__):
            kept += list(rules)[: limits[table] or None]
    if len(kept) == len(table_B):
        return decoder
    old = decoder.grammar
    return decoder.over(SynchronousGrammar.of_rules(old.scfg, old.limits, old.goal, old.copy_label, sorted(kept)))


def _leaves(root: Node) -> Iterator[Leaf]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield from node.leaves
        waiting += [*node.words.values(), *node.gaps.values()]
