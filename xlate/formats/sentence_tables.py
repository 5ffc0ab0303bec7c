"""Folders with a Moses phrase table for every line of a text: `0.gz` or `0` for the first.

A table may have more scores after Moses's four, specific to the place of a phrase. Moses looks phrases up by their
words, so a word that occurs again in a line needs its own name there: `die`, then `die@@2`. The file `input.txt` next
to the tables has the lines with these names. A folder that xlate did not write has no such names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.errors import InputError
from xlate.formats.moses_table import BAR, Columns, MosesTable, unescape_bars
from xlate.text.folders import holds
from xlate.text.lines import check_length, read_lines
from xlate.text.opening import packed_beside

INPUT, MARK = "input.txt", "xlate-export.json"
# Entries in the mark of a folder: that xlate wrote it, and that bars are escaped there.
OURS, ESCAPED = '"tables": true', '"escaped": true'
_MARKED = re.compile(r"@@[0-9]+$")


def marked(words: Sequence[str], repeated: Collection[str]) -> list[str]:
    """Words with numbers on those of `repeated`, from the second time on, and on any that look like marked ones.

    Example:
        >>> marked(["die", "und", "die", "x@@2"], {"die"})
        ['die', 'und', 'die@@2', 'x@@2@@1']
    """
    seen: Counter[str] = Counter()
    found = []
    for word in words:
        seen[word] += 1
        is_marked = _MARKED.search(word) is not None or (seen[word] > 1 and word in repeated)
        found.append(f"{word}@@{seen[word]}" if is_marked else word)
    return found


class SentenceTable(NamedTuple):
    """The table of a line.

    Attributes:
        pairs: the pairs with their four scores, each once, without numbers on words.
        more: the other scores, by the source phrase as written in the file, and the row of the pair.
    """

    pairs: MosesTable
    more: Mapping[tuple[str, int], Sequence[float]]


@dataclass(frozen=True)
class TableFolder:
    """A folder of tables.

    Attributes:
        path: the folder.
        lines: the words of each line as named in its table; None if they are the words themselves.
        unescape: whether `&#124;` means a bar.
    """

    path: Path
    lines: tuple[tuple[str, ...], ...] | None
    unescape: bool

    @classmethod
    def open(cls, path: Path, sentences: int) -> TableFolder:
        """Opens a folder after checking that the table of each of `sentences` lines exists.

        Raises:
            InputError: one is missing, or `input.txt` has another number of lines.
        """
        named = path / INPUT
        lines = None
        if holds(path / MARK, OURS):
            lines = tuple(tuple(line.split(" ")) if line else () for line in read_lines(named))
        folder = cls(path, lines, holds(path / MARK, ESCAPED))
        for number in range(sentences):
            folder.file(number)
        if lines is not None:
            check_length(named, len(lines), sentences, "the text of tables")
        return folder

    def file(self, number: int) -> Path:
        """The table of a line.

        Raises:
            InputError: there is none.
        """
        plain = self.path / str(number)
        found = packed_beside(plain)
        if not found.exists():
            raise InputError(
                "a sentence without a phrase table",
                "no such file",
                f"{plain.name} or {plain.name}.gz for sentence {number}, counted from 0",
                "write a table for every line, and an empty one for a line whose words should all be copied",
                file=plain,
            )
        return found

    def names(self, number: int, words: Sequence[str]) -> Sequence[str]:
        """The names of the words in the table of a line.

        Raises:
            InputError: the table was made for another line.
        """
        if self.lines is None:
            return words
        named = self.lines[number]
        plain = [_MARKED.sub("", name) for name in named]
        if self.unescape:
            plain = list(map(unescape_bars, plain))
        if plain != list(words):
            raise InputError(
                "a table of a different sentence",
                " ".join(words),
                " ".join(plain),
                "give the text that the tables were made for",
                file=self.path / INPUT,
                line=number + 1,
            )
        return named

    def read(self, number: int, more: tuple[int, ...]) -> SentenceTable:
        """The table of a line, with as many scores after the four as `more` allows.

        Raises:
            InputError: as in `moses_table.read_phrase_table`.
        """
        path = self.file(number)
        columns, rows = Columns(path, more), dict[tuple[str, str], int]()
        found = {}
        for line in columns:
            name, _, rest = line.partition(BAR)
            target, _, scores = rest.partition(BAR)
            source = name if self.lines is None else " ".join(_MARKED.sub("", word) for word in name.split(" "))
            known = (source, target) in rows
            row = rows.setdefault((source, target), len(rows))
            # A pair is one row, however often it occurs in the line; a repeated table line is rejected below.
            if not known or (name, row) in found:
                columns.add(f"{source}{BAR}{rest}")
            found[name, row] = columns.split_scores(scores.partition(BAR)[0])[1]
        table = columns.table(self.unescape)
        rank = np.argsort(columns.order_B)
        placed = {(name, int(rank[row])): values for (name, row), values in found.items()}
        return SentenceTable(table, placed)
