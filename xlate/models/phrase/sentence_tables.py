"""A phrase table of its own for every sentence, as extractors that look at one sentence at a time write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xlate.errors import InputError
from xlate.formats.moses_table import MosesTable, read_phrase_table
from xlate.models.phrase.model import PhraseModel, Reordering

if TYPE_CHECKING:
    from xlate.models.phrase.decoder import PhraseDecoder


@dataclass(frozen=True)
class SentenceTables:
    """Decoders whose phrases are those of one file each: `folder/0` or `folder/0.gz` for the first of `sentences`.

    The tables stand in place of the decoder's; language model, weights and search stay. Pairs that the decoder's own
    table has too keep their reordering scores, others have none. Words are taken as they stand in the files.

    Raises:
        InputError: a file is missing, or the model has sparse features, whose weights are those of its own table.
    """

    decoder: PhraseDecoder
    folder: Path
    sentences: int

    def __post_init__(self) -> None:
        """Looks for every file before the first sentence is translated."""
        if self.decoder.model.sparse is not None:
            raise InputError(
                "sparse features know the phrases of their own table only",
                seen=f"tables={self.folder}",
                expected="a run without sparse features",
            )
        for number in range(self.sentences):
            self._file(number)

    def of(self, number: int) -> PhraseDecoder:
        """The decoder of one sentence.

        Raises:
            InputError: whatever reading the table raises.
        """
        given = read_phrase_table(self._file(number), unescape=False)
        return self.decoder.changed(model=with_table(self.decoder.model, given))

    def _file(self, number: int) -> Path:
        plain = self.folder / str(number)
        packed = plain.with_name(f"{number}.gz")
        if not plain.exists() and not packed.exists():
            raise InputError(
                "a sentence without a phrase table",
                file=plain,
                seen="no such file",
                expected=f"{plain.name} or {packed.name} for sentence {number}, counted from 0",
                remedy="write a table for every line, an empty one for a line whose words are all to be copied",
            )
        return plain if plain.exists() else packed


def with_table(model: PhraseModel, given: MosesTable) -> PhraseModel:
    """The same model with other phrase pairs; those it had keep their reordering scores."""
    reordering = None
    if model.reordering is not None:
        probability_BK2 = np.full((len(given.table), 2 * model.orientations), np.nan)
        for b in range(len(given.table)):
            pair = model.pair_number(*_words(given, b))
            if pair is not None:
                probability_BK2[b] = model.reordering.probability_BK2[pair]
        reordering = Reordering(model.reordering.kind, probability_BK2)
    return replace(
        model,
        table=given.table,
        source_vocabulary=given.source_vocabulary,
        target_vocabulary=given.target_vocabulary,
        reordering=reordering,
    )


def _words(given: MosesTable, b: int) -> tuple[list[str], list[str]]:
    table = given.table
    source = table.source_phrases[int(table.source_B[b])].tolist()
    target = table.target_phrases[int(table.target_B[b])].tolist()
    return [given.source_vocabulary.word(w) for w in source], [given.target_vocabulary.word(w) for w in target]
