"""Documents: sentences that follow one another in a text and belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from xlate.array_types import AnyInts, Ints
from xlate.errors import InputError
from xlate.text.lines import check_length, read_lines


@dataclass(frozen=True)
class Documents:
    """D consecutive documents of S sentences; document d is `offsets_D1[d]` to `offsets_D1[d + 1]`.

    None is empty. Adjacent documents may have the same name if they come from different files.
    """

    names: list[str]
    offsets_D1: Ints

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sentences(self) -> int:
        """The total number of sentences."""
        return int(self.offsets_D1[-1])

    @property
    def document_S(self) -> Ints:
        """The document of each sentence."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets_D1))

    def ranges(self) -> list[range]:
        """The sentences of each document."""
        return [range(start, end) for start, end in pairwise(self.offsets_D1.tolist())]

    def rows(self, rows: Sequence[int] | AnyInts) -> Documents:
        """The documents of some of the sentences, given in order; documents without any are left out."""
        document_K = self.document_S[np.asarray(rows, np.int64)]
        starts = _starts(document_K)
        return Documents([self.names[d] for d in document_K[starts].tolist()], np.append(starts, len(document_K)))

    def folds(self, folds: int) -> Ints:
        """The fold of each sentence, shape (S,): folds are as even as possible without cutting documents.

        Raises:
            InputError: fewer documents than folds.
        """
        if folds > len(self):
            raise InputError("fewer documents than folds", f"{len(self)} documents", f"{folds} or more")
        starts, cuts = self.offsets_D1[:-1], [0]
        for fold in range(1, folds):
            place = int(np.abs(starts - self.sentences * fold / folds).argmin())
            cuts.append(min(max(place, cuts[-1] + 1), len(self) - folds + fold))
        ends = np.append(starts[cuts], self.sentences)
        return np.repeat(np.arange(folds), np.diff(ends))


def joined_documents(many: Sequence[Documents]) -> Documents:
    """The documents of concatenated texts; no document continues from one text to the next."""
    ends = np.cumsum([0, *(documents.sentences for documents in many)])
    starts = [documents.offsets_D1[:-1] + end for documents, end in zip(many, ends, strict=False)]
    names = [name for documents in many for name in documents.names]
    return Documents(names, np.concatenate([*starts, ends[-1:]]).astype(np.int64))


def read_documents(path: str | Path, sentences: int, pattern: str | None = None) -> Documents:
    """Reads the documents of a text from a file that names one on each line.

    Args:
        path: the file, with as many lines as the text; all sentences of a document follow one another.
        sentences: how many lines the text has.
        pattern: a regular expression; its first match in a line is the name, otherwise the whole line is.

    Raises:
        InputError: the number of lines differs, a line has no name, or a document continues after another began.
    """
    lines = read_lines(path)
    check_length(path, len(lines), sentences, "a file of documents")
    try:
        name_of = re.compile("(?s:.+)" if pattern is None else pattern)
    except re.error as error:
        raise InputError("not a regular expression", pattern, f"one that compiles: {error}") from error
    numbers: dict[str, int] = {}
    document_S = np.zeros(sentences, np.int64)
    for row, line in enumerate(lines):
        found = name_of.search(line.strip())
        if found is None or not found[0]:
            seen, expected = repr(line), f"a name that matches {pattern!r}" if pattern else "the name of a document"
            raise InputError("no document name", seen, expected, file=path, line=row + 1)
        document_S[row] = numbers.setdefault(found[0], len(numbers))
        if row and document_S[row] < document_S[row - 1]:
            raise InputError(
                "a document continues after another began",
                found[0],
                "all sentences of a document together",
                file=path,
                line=row + 1,
            )
    return Documents(list(numbers), np.append(_starts(document_S), sentences))


def _starts(document_S: Ints) -> Ints:
    """The sentences at which documents begin."""
    return np.flatnonzero(np.diff(document_S, prepend=-1))
