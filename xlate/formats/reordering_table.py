"""Lexicalised reordering tables in the text format of Moses.

Each line is `source ||| target ||| mono_b swap_b disc_b mono_f swap_f disc_f`: the probabilities that a phrase pair is
monotone, swapped or discontinuous with respect to the phrase before it (b) and to the phrase after it (f).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import places_of_keys
from xlate.formats.moses_table import BAR, numbers_text, spell_phrases, spelled_table
from xlate.phrases.table import PhraseTable
from xlate.progress import track
from xlate.text.lines import FileLines, write_lines
from xlate.text.numbers import parse_row
from xlate.text.vocabulary import Vocabulary

SCORES = 6
FORM = "source ||| target ||| mono_b swap_b disc_b mono_f swap_f disc_f"


def read_reordering_table(
    path: str | Path, table: PhraseTable, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary
) -> Floats:
    """The six scores of each of B phrase pairs, shape (B, 6), NaN where the file has none.

    Scores are probabilities, unless other features were folded into them; Moses takes their logarithms. Lines of pairs
    that the phrase table lacks are skipped, so a full reordering table works with a filtered phrase table.

    Args:
        table: the phrase pairs; in the file they may be in any order.
        source_vocabulary: the words of its source phrases.
        target_vocabulary: the same for the target.

    Raises:
        InputError: a line is ill-formed, has numbers that are negative or not finite, or repeats a phrase pair; the
            message names the line.
    """
    lines = FileLines(path)
    sides = (table.source_phrases, source_vocabulary), (table.target_phrases, target_vocabulary)
    source_rows, target_rows = (
        {words: row for row, words in enumerate(spell_phrases(lines.path, *side, escape=False))} for side in sides
    )
    known = {}
    keys = []
    values = []
    numbers = []
    for line in track(lines, "reading reordering table"):
        parts = line.rstrip(" ").split(BAR)
        if len(parts) != 3:
            raise lines.error("wrong number of fields", line, FORM)
        source, target, text = parts
        if text not in known:
            known[text] = tuple(parse_row(text) or ())
            if len(known[text]) != SCORES or min(known[text]) < 0:
                remedy = "give a table of model msd-bidirectional-fe"
                raise lines.error("not six scores", text, FORM, remedy)
        if source in source_rows and target in target_rows:
            keys.append(source_rows[source] << 32 | target_rows[target])
            values.append(known[text])
            numbers.append(lines.number)
    return _place(lines, table, np.array(keys, np.int64), np.array(values).reshape(-1, SCORES), numbers)


def _place(lines: FileLines, table: PhraseTable, key_K: Ints, score_K6: Floats, numbers: list[int]) -> Floats:
    """Puts the scores of K pairs into the rows of the table, which is sorted by its keys."""
    row_K = places_of_keys(table.source_B.astype(np.int64) << 32 | table.target_B, key_K)
    listed = np.flatnonzero(row_K >= 0)
    _, first, place_L = np.unique(row_K[listed], return_index=True, return_inverse=True)
    twice = np.flatnonzero(first[place_L] < np.arange(len(listed)))
    if len(twice):
        earlier, later = (numbers[listed[place]] for place in (first[place_L[twice[0]]], twice[0]))
        seen, expected = f"the pair of line {earlier}", "each phrase pair once"
        raise lines.error("a phrase pair appears twice", seen, expected, line=later)
    score_B6 = np.full((len(table), SCORES), np.nan)
    score_B6[row_K[listed]] = score_K6[listed]
    return score_B6


def write_reordering_table(
    path: str | Path,
    table: PhraseTable,
    probability_B6: Floats,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    escape: bool | None = None,
    exact: bool = False,
) -> None:
    """Writes a table in the order of `write_phrase_table`, without pairs that have no scores; compressed with gzip if
    the name ends in .gz.

    Args:
        path: the file.
        table: the phrase pairs.
        probability_B6: the scores, as `read_reordering_table` returns them.
        source_vocabulary, target_vocabulary: the words.
        escape, exact: as in `write_phrase_table`.

    Raises:
        InputError: a Moses table cannot hold a word.
    """
    sources, targets, order_B = spelled_table(path, table, source_vocabulary, target_vocabulary, escape)
    order_B = order_B[~np.isnan(probability_B6[order_B, 0])]
    columns = (table.source_B[order_B], table.target_B[order_B], probability_B6[order_B])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = (f"{sources[p]}{BAR}{targets[q]}{BAR}{numbers_text(values, exact)}" for p, q, values in rows)
    write_lines(path, track(lines, "writing reordering table", len(order_B)))
