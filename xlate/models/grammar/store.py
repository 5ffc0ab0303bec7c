"""A whole grammar in binary form: its rules, their features and limits, and the language model below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.arrays.ranges import check_lengths, check_offsets, check_rising, check_within, refuse
from xlate.arrays.stored import (
    HEADER,
    StoredArrays,
    arrays_of,
    check_seals,
    layout_of,
    open_arrays,
    save_arrays,
    seal_of,
    unusable,
)
from xlate.formats.grammars.grammar import NO_LIMIT, Gap, Scfg, ScfgRule, Side, gaps_of, words_of
from xlate.lm.model import KIND as LM
from xlate.lm.model import NgramModel
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.text.encoded import EncodedText
from xlate.text.lines import read_lines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32
from xlate.text.vocabulary import Vocabulary

KIND = "grammar"
# Words of both sides; labels; names of features, those in columns first. One on each line.
VOCABULARY, LABELS, NAMES = "vocabulary", "labels", "names"
FILES = (VOCABULARY, LABELS, NAMES)


@dataclass(frozen=True)
class _Rules:
    """B rules with D features in columns; the V values of the other features lie rule after rule.

    A side is a row of numbers: words by the vocabulary; a gap of the source side as -1 less its label, one of the
    target side as its number below 0.
    """

    lhs_B: Ints32
    limit_B: Ints32
    source: EncodedText
    target: EncodedText
    dense_BD: Floats
    sparse_offsets_B1: Ints
    sparse_name_V: Ints32
    sparse_value_V: Floats


def save_grammar(folder: str | Path, grammar: SynchronousGrammar, model: NgramModel | None) -> None:
    """Writes a grammar, and its language model if there is one, into a folder."""
    folder, scfg = Path(folder), grammar.scfg
    folder.mkdir(parents=True, exist_ok=True)
    (folder / HEADER).unlink(missing_ok=True)
    vocabulary = Vocabulary.build(words_of((*rule.source, *rule.target)) for rule in scfg.rules)
    # All that are used are on the left side of a rule, or that of copied words.
    labels = list(dict.fromkeys((grammar.goal, grammar.copy_label, *(rule.lhs for rule in scfg.rules))))
    label_ids = {label: number for number, label in enumerate(labels)}
    sparse = [scfg.sparse.get(b, {}) for b in range(len(scfg))]
    names = list(dict.fromkeys((*scfg.names, *(name for values in scfg.sparse.values() for name in values))))
    name_ids = {name: number for number, name in enumerate(names)}
    source = (
        [-1 - label_ids[s.label] if isinstance(s, Gap) else vocabulary.id(s) for s in rule.source]
        for rule in scfg.rules
    )
    target = ([-s.number if isinstance(s, Gap) else vocabulary.id(s) for s in rule.target] for rule in scfg.rules)
    rules = _Rules(
        lhs_B=np.array([label_ids[rule.lhs] for rule in scfg.rules], dtype=np.int32),
        limit_B=np.array(grammar.limits, dtype=np.int32),
        source=EncodedText.from_ids(np.array(side, dtype=np.int32) for side in source),
        target=EncodedText.from_ids(np.array(side, dtype=np.int32) for side in target),
        dense_BD=scfg.dense_BD,
        sparse_offsets_B1=offsets_of([len(values) for values in sparse]),
        sparse_name_V=np.array([name_ids[name] for values in sparse for name in values], dtype=np.int32),
        sparse_value_V=np.array([value for values in sparse for value in values.values()], dtype=np.float64),
    )
    vocabulary.save(folder / VOCABULARY)
    write_lines(folder / LABELS, labels)
    write_lines(folder / NAMES, names)
    if model is not None:
        model.save(folder / "lm")
    described = {
        "goal": label_ids[grammar.goal],
        "copied": label_ids[grammar.copy_label],
        "lm": None if model is None else seal_of(folder / "lm", LM),
    }
    save_arrays(folder, KIND, arrays_of(rules), described, FILES)


def load_grammar(folder: str | Path) -> tuple[SynchronousGrammar, NgramModel | None]:
    """Reads what `save_grammar` wrote: the grammar, and its language model, None where it has none.

    Raises:
        InputError: a file is missing, damaged or of another kind, or numbers are outside of their ranges.
    """
    stored = open_arrays(folder, KIND, layout_of(_Rules)[0], _check)
    has_model = stored.metadata.get("lm") is not None
    if has_model:
        check_seals(stored, lm=LM)
    words = Vocabulary.load(stored.folder / VOCABULARY).words
    labels, names = (read_lines(stored.folder / name) for name in (LABELS, NAMES))
    arrays = _Rules(**stored.fields())
    dense_BD = np.array(arrays.dense_BD)
    sparse: dict[int, dict[str, float]] = {}
    rows = row_numbers(arrays.sparse_offsets_B1).tolist()
    for b, name, value in zip(rows, arrays.sparse_name_V.tolist(), arrays.sparse_value_V.tolist(), strict=True):
        sparse.setdefault(b, {})[names[name]] = value
    rules: list[ScfgRule] = []
    for lhs, source_ids, target_ids in zip(
        arrays.lhs_B.tolist(), _sides(arrays.source), _sides(arrays.target), strict=True
    ):
        numbers = count(1)
        source: Side = tuple(words[i] if i >= 0 else Gap(labels[-1 - i], next(numbers)) for i in source_ids)
        gaps = gaps_of(source)
        rules.append(ScfgRule(labels[lhs], source, tuple(words[i] if i >= 0 else gaps[-1 - i] for i in target_ids)))
    scfg = Scfg(rules, tuple(names[: dense_BD.shape[1]]), dense_BD, sparse)
    goal, copied = (labels[stored.number(name)] for name in ("goal", "copied"))
    grammar = SynchronousGrammar(scfg, arrays.limit_B.tolist(), goal, copied)
    return grammar, NgramModel.load(stored.folder / "lm") if has_model else None


def _sides(text: EncodedText) -> Iterator[list[int]]:
    ids = text.ids_T.tolist()
    return (ids[a:b] for a, b in pairwise(text.offsets_S1.tolist()))


def _check(stored: StoredArrays) -> None:
    """Looks whether all numbers lead to words, labels and names, and the gaps of both sides belong together."""
    rules, columns = stored["dense_BD"].shape
    labels, names = (len(read_lines(stored.folder / name)) for name in (LABELS, NAMES))
    words, places = len(Vocabulary.load(stored.folder / VOCABULARY)), len(stored["sparse_name_V"])
    if max(stored.number("goal"), stored.number("copied")) >= labels or columns > names:
        seen = f"labels {stored.metadata['goal']} and {stored.metadata['copied']}, {columns} columns"
        raise unusable(stored.folder / HEADER, "not a whole grammar", seen, f"{labels} labels, {names} names")
    check_lengths(stored, lhs_B=(rules,), limit_B=(rules,), sparse_value_V=(places,))
    check_lengths(stored, source_offsets=(rules + 1,), target_offsets=(rules + 1,), sparse_offsets_B1=(rules + 1,))
    for side in ("source", "target"):
        check_offsets(stored, f"{side}_offsets", len(stored[f"{side}_ids"]))
        check_rising(stored, f"{side}_offsets", strictly=True)
    check_offsets(stored, "sparse_offsets_B1", places)
    check_within(stored, "lhs_B", 0, labels)
    check_within(stored, "limit_B", 0, NO_LIMIT + 1)
    check_within(stored, "source_ids", -labels, words)
    check_within(stored, "target_ids", -(1 << 30), words)
    check_within(stored, "sparse_name_V", 0, names)
    arrays = _Rules(**stored.fields())
    for source, target in zip(_sides(arrays.source), _sides(arrays.target), strict=True):
        # The gaps of the source side, each once, in any order.
        if sorted(-i for i in target if i < 0) != list(range(1, sum(i < 0 for i in source) + 1)):
            raise refuse(stored, "target_ids", "gaps that the source side has not", "the same gaps on both sides")
    for name in ("dense_BD", "sparse_value_V"):
        if not (np.abs(stored[name]) <= LARGEST_FLOAT32).all():
            raise refuse(stored, name, "a value that is no number of 32 bits", f"at most {LARGEST_FLOAT32:.3g}")
