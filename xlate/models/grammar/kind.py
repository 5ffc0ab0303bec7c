"""Complete grammars of other systems, whatever form their rules have, decoded bottom-up: as they are, and imported.

An imported one is stored in binary form: its rules, their features and limits, and the language model below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.arrays.ranges import check_lengths, check_offsets, check_rising, check_shapes, check_within, refuse
from xlate.arrays.stored import (
    HEADER,
    StoredArrays,
    arrays_of,
    begin_folder,
    check_seals,
    layout_of,
    open_arrays,
    save_arrays,
    seal_of,
    unusable,
)
from xlate.config.schema import TrainConfig
from xlate.config.stored import MODEL
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.formats.cdec import read_cdec_system, read_joshua_system
from xlate.formats.moses_ini import is_moses_ini
from xlate.formats.moses_rules import read_moses_system
from xlate.formats.scfg import NO_LIMIT, Gap, Scfg, ScfgRule, Side, gaps_of, normal_form, words_of
from xlate.lm.model import KIND as LM_KIND
from xlate.lm.model import NgramModel
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.grammar.system import GrammarSystem
from xlate.models.kind import Kind
from xlate.scoring.weights import WeightsFile
from xlate.search.settings import CKY, GrammarSearch
from xlate.text.lines import read_lines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32
from xlate.text.vocabulary import EncodedText, Vocabulary
from xlate.work.directory import WorkDirectory

KIND = "grammar"
# Words of both sides; labels; names of features, those in columns first. One per line.
VOCABULARY, LABELS, NAMES = "vocabulary", "labels", "names"
FILES = (VOCABULARY, LABELS, NAMES)


def open_grammar(path: Path, given: Mapping[str, Any]) -> GrammarSystem:
    """The system of a configuration.

    Args:
        path: of a joshua.config, a cdec.ini, or the moses.ini of a hierarchical system, which may have another name.
        given: settings of the decoder by key.

    Raises:
        InputError: a file that is missing or cannot be used, a setting that does not fit, or a search other than `cky`.
    """
    settings = with_settings(GrammarSearch(), given, "decoder")
    if path.suffix == ".config":
        system = read_joshua_system(path)
    elif path.suffix == ".ini" and not is_moses_ini(path):
        system = read_cdec_system(path)
    else:
        system = read_moses_system(path)
    return _bottom_up(path, GrammarSystem.of_foreign(system, settings))


def _bottom_up(path: Path, system: GrammarSystem) -> GrammarSystem:
    if system.search.algorithm != CKY:
        share, faults = normal_form(system.grammar.scfg, system.grammar.copy_label)
        shown = "".join(f"\n              {one}" for one in faults)
        raise InputError(
            "a complete grammar cannot be decoded from left to right",
            f"decoder.algorithm={system.search.algorithm}; {share}",
            f"decoder.algorithm={CKY}, for rules of every form; not in target normal form:{shown}",
            f"leave out decoder.algorithm, or set it to {CKY}",
            file=path,
        )
    return system


class Grammar(Kind):
    """An imported grammar with the weights that it came with."""

    name = KIND
    impossible = (
        "an imported grammar keeps the weights that it came with",
        "rank its n-best lists: xlate train model=rerank nbest=FILE references=[FILE]",
    )

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,  # noqa: ARG002
    ) -> GrammarSystem:
        grammar, model = load_grammar(run / MODEL)
        held = weights.sets[KIND]
        system = _bottom_up(run, GrammarSystem(grammar, held.floats, model, config.decoder))
        if system.feature_names != held.dense_names:
            seen, expected = (" ".join(names[:20]) for names in (held.dense_names, system.feature_names))
            raise InputError("not the weights of this grammar", seen, expected, file=run)
        return system


@dataclass(frozen=True)
class _Rules:
    """B rules with D features in columns; the V values of the other features are stored rule by rule.

    A side is a row of numbers: words by the vocabulary; a gap of the source side as -1 minus its label, one of the
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
    folder, scfg = begin_folder(folder), grammar.scfg
    vocabulary = Vocabulary.build(words_of((*rule.source, *rule.target)) for rule in scfg.rules)
    # All labels in use are on the left side of a rule, or that of copied words.
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
        lhs_B=np.array([label_ids[rule.lhs] for rule in scfg.rules], np.int32),
        limit_B=np.array([rule.limit for rule in scfg.rules], np.int32),
        source=EncodedText.from_ids(np.array(side, np.int32) for side in source),
        target=EncodedText.from_ids(np.array(side, np.int32) for side in target),
        dense_BD=scfg.dense_BD,
        sparse_offsets_B1=offsets_of([len(values) for values in sparse]),
        sparse_name_V=np.array([name_ids[name] for values in sparse for name in values], np.int32),
        sparse_value_V=np.array([value for values in sparse for value in values.values()], np.float64),
    )
    vocabulary.save(folder / VOCABULARY)
    write_lines(folder / LABELS, labels)
    write_lines(folder / NAMES, names)
    if model is not None:
        model.save(folder / "lm")
    described = {
        "goal": label_ids[grammar.goal],
        "copied": label_ids[grammar.copy_label],
        "lm": None if model is None else seal_of(folder / "lm", LM_KIND),
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
        check_seals(stored, lm=LM_KIND)
    words = Vocabulary.load(stored.folder / VOCABULARY).words
    labels, names = (read_lines(stored.folder / name) for name in (LABELS, NAMES))
    arrays = _Rules(**stored.fields())
    dense_BD = np.array(arrays.dense_BD)
    sparse: dict[int, dict[str, float]] = {}
    rows = row_numbers(arrays.sparse_offsets_B1).tolist()
    for b, name, value in zip(rows, arrays.sparse_name_V.tolist(), arrays.sparse_value_V.tolist(), strict=True):
        sparse.setdefault(b, {})[names[name]] = value
    rules: list[ScfgRule] = []
    columns = arrays.lhs_B.tolist(), _sides(arrays.source), _sides(arrays.target), arrays.limit_B.tolist()
    for lhs, source_ids, target_ids, limit in zip(*columns, strict=True):
        numbers = count(1)
        source: Side = tuple(words[i] if i >= 0 else Gap(labels[-1 - i], next(numbers)) for i in source_ids)
        gaps = gaps_of(source)
        target: Side = tuple(words[i] if i >= 0 else gaps[-1 - i] for i in target_ids)
        rules.append(ScfgRule(labels[lhs], source, target, limit))
    scfg = Scfg(rules, tuple(names[: dense_BD.shape[1]]), dense_BD, sparse)
    goal, copied = (labels[stored.number(name)] for name in ("goal", "copied"))
    grammar = SynchronousGrammar(scfg, goal, copied)
    return grammar, NgramModel.load(stored.folder / "lm") if has_model else None


def _sides(text: EncodedText) -> Iterator[list[int]]:
    ids = text.ids_T.tolist()
    return (ids[a:b] for a, b in pairwise(text.offsets_S1.tolist()))


def _check(stored: StoredArrays) -> None:
    """Checks that all numbers lead to words, labels and names, and that the gaps of both sides belong together."""
    check_shapes(stored)
    rules, columns = stored["dense_BD"].shape
    labels, names = (len(read_lines(stored.folder / name)) for name in (LABELS, NAMES))
    words = len(Vocabulary.load(stored.folder / VOCABULARY))
    if max(stored.number("goal"), stored.number("copied")) >= labels or columns > names:
        seen = f"labels {stored.metadata['goal']} and {stored.metadata['copied']}, {columns} columns"
        raise unusable(stored.folder / HEADER, "not a complete grammar", seen, f"{labels} labels, {names} names")
    check_lengths(stored, source_offsets=(rules + 1,), target_offsets=(rules + 1,))
    for side in ("source", "target"):
        check_offsets(stored, f"{side}_offsets", len(stored[f"{side}_ids"]))
        check_rising(stored, f"{side}_offsets", strictly=True)
    check_offsets(stored, "sparse_offsets_B1", len(stored["sparse_name_V"]))
    check_within(stored, "lhs_B", 0, labels)
    check_within(stored, "limit_B", 0, NO_LIMIT + 1)
    check_within(stored, "source_ids", -labels, words)
    check_within(stored, "target_ids", -(1 << 30), words)
    check_within(stored, "sparse_name_V", 0, names)
    arrays = _Rules(**stored.fields())
    for source, target in zip(_sides(arrays.source), _sides(arrays.target), strict=True):
        # The gaps of the source side, each once, in any order.
        if sorted(-i for i in target if i < 0) != list(range(1, sum(i < 0 for i in source) + 1)):
            raise refuse(stored, "target_ids", "gaps that the source side does not have", "the same gaps on both sides")
    for name in ("dense_BD", "sparse_value_V"):
        if not (np.abs(stored[name]) <= LARGEST_FLOAT32).all():
            raise refuse(stored, name, "a value that does not fit in 32 bits", f"at most {LARGEST_FLOAT32:.3g}")
