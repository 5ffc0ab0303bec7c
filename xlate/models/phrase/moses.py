"""Phrase models from tables in the form of Moses: of a whole system, and of one sentence each."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.errors import InputError, refuse_if
from xlate.formats.moses_ini import MODELS, MosesIni
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.reordering_table import read_reordering_table
from xlate.formats.sentence_tables import SentenceTable, TableFolder
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.phrase.model import PHRASE_FEATURES, SIZE, SLOTS, UNKNOWN, PhraseModel, Reordering, SentencePhrases
from xlate.models.unit_model import LOWEST_LOG


def moses_model(ini: MosesIni, only: Container[str] | None = None) -> tuple[PhraseModel, Floats]:
    """The model of a Moses system, and its weights in the order of `PHRASE_FEATURES`, shape (15,).

    Words are used as they are in the tables: Moses's tokenizer has escaped bars in the text too.

    Args:
        ini: its configuration.
        only: the source phrases to read, None for all; see `moses_table.phrases_in`.

    Raises:
        InputError: a feature that this decoder lacks, a missing or repeated one, or whatever reading the files raises.
    """
    ini.check_kinds(sorted(kind for kinds in KINDS.values() for kind in kinds))
    found = {name: ini.find(*kinds) for name, kinds in KINDS.items()}
    for name in ("TranslationModel0", "LM0"):
        refuse_if(found[name] is None, "a feature is missing", None, " or ".join(KINDS[name]), file=ini.path)
    lines = {name: line for name, line in found.items() if line is not None}
    table, source, target = read_phrase_table(ini.file(lines["TranslationModel0"]), only)
    lm = NgramModel.from_arpa(read_arpa(ini.file(lines["LM0"])))
    reordering, line = None, lines.get("LexicalReordering0")
    if line is not None:
        text = line.arguments.get("type", "")
        kind, _, rest = text.partition("-")
        if kind not in ("wbe", "phrase", "hier") or rest.removesuffix("-allff") != "msd-bidirectional-fe":
            message, expected = "an unsupported reordering model", "wbe-, phrase- or hier-msd-bidirectional-fe"
            raise InputError(message, text, expected, file=ini.path, line=line.line)
        kind = "hier" if kind == "hier" else "wbe"
        reordering = Reordering(kind, read_reordering_table(ini.file(line), table, source, target))
    # Features without a line weigh 0, except the penalty for unknown words.
    weights_D = np.zeros(SIZE)
    weights_D[UNKNOWN] = 1.0
    for name, line in lines.items():
        weights_D[SLOTS[name]] = ini.weight(line.name, PHRASE_FEATURES[name])
    return PhraseModel(table, source, target, lm, reordering), weights_D


KINDS = {
    "LexicalReordering0": ("LexicalReordering",),
    "Distortion0": ("Distortion",),
    "LM0": MODELS,
    "WordPenalty0": ("WordPenalty",),
    "PhrasePenalty0": ("PhrasePenalty",),
    "TranslationModel0": ("PhraseDictionaryMemory", "PhraseDictionaryCompact", "PhraseDictionaryOnDisk"),
    "UnknownWordPenalty0": ("UnknownWordPenalty",),
}


@dataclass(frozen=True)
class TableScores:
    """The logs of some scores after the first four, of phrases (`SentenceScores`) or of each of their places.

    Attributes:
        names: of the floats.
        reach: see `SentencePlaces`.
        part: the slice of the scores.
        missing: the value at a place for a pair that the table lacks.
        folder, number, table: the table of a line.
    """

    names: tuple[str, ...]
    reach: int
    part: slice
    missing: float
    folder: TableFolder
    number: int
    table: SentenceTable

    @property
    def name(self) -> str:
        return self.names[0]

    def of(self, phrases: SentencePhrases) -> Floats:
        """The scores of phrases, (O, E); 0 for copied words.

        Raises:
            InputError: the table was made for another sentence.
        """
        named = self.folder.names(self.number, phrases.words)
        columns = (np.asarray(column).tolist() for column in phrases[1:])
        logs_OE = np.zeros((len(phrases.pair_O), self.part.stop - self.part.start))
        for o, (start, end, pair) in enumerate(zip(*columns, strict=True)):
            if pair < 0:
                continue
            values = self.table.more.get((" ".join(named[start:end]), pair))
            if values is None:
                logs_OE[o] = self.missing
                continue
            with np.errstate(divide="ignore"):
                logs_OE[o] = np.maximum(np.log(values[self.part]), LOWEST_LOG)
        return logs_OE

    def anywhere(self, pair_N: AnyInts) -> Floats:
        """None of them, because every table is of one sentence."""
        return np.full((len(pair_N), len(self.names)), np.nan)


def sentence_models(model: PhraseModel, folder: Path, sentences: int) -> Callable[[int], PhraseModel]:
    """Models whose phrases are those of one file each: `folder/0` or `folder/0.gz` for the first of `sentences`.

    These tables replace the model's; its language model is kept. The scores after the first four are the floats that
    the model gives phrases in their sentence, then those of the places of phrases. Reordering scores may follow;
    otherwise pairs that the model's own table has too keep theirs, and others have none. Words are used as they are in
    the files, except for those of `TableFolder`.

    Raises:
        InputError: a file is missing, or the model has sparse features, whose weights are those of its own table; of
            the function that is returned: whatever reading the table raises.
    """
    refuse_if(
        model.sparse is not None,
        "sparse features know only the phrases of their own table",
        f"tables={folder}",
        "a run without sparse features",
    )
    tables = TableFolder.open(folder, sentences)
    first = len(model.sentence_names)
    floats = first + (0 if model.placed is None else 2 * model.placed.reach + 1)
    inside = (floats + 2 * model.orientations,) if model.reordering is not None else ()

    def made(number: int) -> PhraseModel:
        table = tables.read(number, (floats, *inside))
        given, held = table.pairs, (tables, number, table)
        reordering = None
        if model.reordering is not None:
            reordering = Reordering(model.reordering.kind, _reordering_of(model, model.reordering, table, floats))
        one = replace(
            model,
            table=given.table,
            source_vocabulary=given.source_vocabulary,
            target_vocabulary=given.target_vocabulary,
            reordering=reordering,
        )
        if model.in_sentence is not None:
            scores = TableScores(model.sentence_names, 0, slice(0, first), -np.inf, *held)
            one = replace(one, in_sentence=scores)
        if model.placed is not None:
            placed = model.placed
            one = replace(one, placed=TableScores((placed.name,), placed.reach, slice(first, floats), 0.0, *held))
        return one

    return made


def _reordering_of(model: PhraseModel, own: Reordering, table: SentenceTable, floats: int) -> Floats:
    """The reordering scores of a table after `floats` floats, or those that its pairs have in a model; (B, 2K)."""
    given = {pair: values[floats:] for (_, pair), values in table.more.items()}
    pairs, source, target = table.pairs.table, table.pairs.source_vocabulary, table.pairs.target_vocabulary
    if any(given.values()):
        return np.array([given[b] for b in range(len(pairs))]).reshape(-1, 2 * model.orientations)
    probability_BK2 = np.full((len(pairs), 2 * model.orientations), np.nan)
    for b, (s, t) in enumerate(zip(pairs.source_B.tolist(), pairs.target_B.tolist(), strict=True)):
        pair = model.pair_number(source.words_of(pairs.source_phrases[s]), target.words_of(pairs.target_phrases[t]))
        if pair is not None:
            probability_BK2[b] = own.probability_BK2[pair]
    return probability_BK2
