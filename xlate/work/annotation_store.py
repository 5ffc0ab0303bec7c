"""What the corpus stage knows of a text beside its words.

Factors are numbered values, one for each token; documents are ranges of sentences; copies are groups of sentence pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.arrays.ranges import check_lengths, check_offsets, check_rising, check_within
from xlate.arrays.stored import StoredArrays, open_arrays, save_arrays
from xlate.text.documents import Documents
from xlate.text.encoded import EncodedText
from xlate.text.lines import read_lines, write_lines
from xlate.text.vocabulary import Vocabulary

VOCABULARY = "vocabulary of a factor"
FACTOR = "factor of a text"
DOCUMENTS = "documents of a text"
COPIES = "list of copies"
FACTOR_LAYOUT = {"ids_T": ("<i4", 1), "offsets_S1": ("<i8", 1)}
DOCUMENTS_LAYOUT = {"offsets_D1": ("<i8", 1)}
COPIES_LAYOUT = {"group_S": ("<i8", 1)}
NAMES = "names"


def factor_folder(corpus: Path, side: str, name: str) -> Path:
    """Where a factor of a side is, below the folder of the corpus stage."""
    return corpus / "factors" / f"{side}.{name}"


def documents_folder(corpus: Path, split: str) -> Path:
    """Where the documents of a split are, below the folder of the corpus stage."""
    return corpus / "documents" / split


def copies_folder(corpus: Path) -> Path:
    """Where the copies of the training text are, below the folder of the corpus stage."""
    return corpus / "copies"


def _part(split: str, number: int) -> str:
    return f"{split}.{number}" if number else split


def save_factor(folder: Path, split: str, values: Sequence[Sequence[str]], reference: int = 0) -> None:
    """Writes a factor of a split; that of `train`, which the numbers are of, comes first."""
    if split == "train":
        folder.mkdir(parents=True, exist_ok=True)
        Vocabulary.build(values).save(folder / "vocabulary")
        save_arrays(folder, VOCABULARY, {}, files=["vocabulary"])
    text = EncodedText.encode(values, load_factor_vocabulary(folder))
    save_arrays(folder / _part(split, reference), FACTOR, {"ids_T": text.ids_T, "offsets_S1": text.offsets_S1})


def load_factor_vocabulary(folder: Path) -> Vocabulary:
    """The values that a factor has in the training text.

    Raises:
        InputError: there is none, or it is damaged.
    """
    open_arrays(folder, VOCABULARY, {})
    return Vocabulary.load(folder / "vocabulary")


def load_factor(folder: Path, split: str, reference: int = 0) -> EncodedText:
    """The numbered values of a factor in a split, one for each token.

    Raises:
        InputError: there are none, or they are damaged.
    """
    size = len(load_factor_vocabulary(folder))

    def check(stored: StoredArrays) -> None:
        check_within(stored, "ids_T", 0, size)
        check_offsets(stored, "offsets_S1", len(stored["ids_T"]))

    stored = open_arrays(folder / _part(split, reference), FACTOR, FACTOR_LAYOUT, check)
    return EncodedText(stored["ids_T"], stored["offsets_S1"])


def save_documents(folder: Path, documents: Documents) -> None:
    """Writes documents with their names into a folder."""
    write_lines(folder / NAMES, documents.names)
    metadata = {"sentences": documents.sentences}
    save_arrays(folder, DOCUMENTS, {"offsets_D1": documents.offsets_D1}, metadata, files=[NAMES])


def load_documents(folder: Path) -> Documents:
    """Reads what `save_documents` wrote.

    Raises:
        InputError: it is not there, or damaged.
    """
    stored = open_arrays(folder, DOCUMENTS, DOCUMENTS_LAYOUT, _check_documents)
    names = read_lines(folder / NAMES)
    check_lengths(stored, offsets_D1=(len(names) + 1,))
    return Documents(names, np.asarray(stored["offsets_D1"]))


def _check_documents(stored: StoredArrays) -> None:
    check_offsets(stored, "offsets_D1", stored.number("sentences"))
    check_rising(stored, "offsets_D1", strictly=True)


def save_copies(folder: Path, group_S: Ints) -> None:
    """Writes the groups of copies of a training text; see `align.copies.copy_groups`."""
    save_arrays(folder, COPIES, {"group_S": group_S})


def load_copies(folder: Path) -> Ints:
    """Reads what `save_copies` wrote.

    Raises:
        InputError: it is not there, or damaged.
    """
    stored = open_arrays(folder, COPIES, COPIES_LAYOUT, _check_copies, memory_map=False)
    return np.asarray(stored["group_S"])


def _check_copies(stored: StoredArrays) -> None:
    check_within(stored, "group_S", 0, len(stored["group_S"]))
