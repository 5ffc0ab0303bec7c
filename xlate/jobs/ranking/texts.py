"""One text of what is chosen of each list, in the order of the sentences, whatever order the lists stand in."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from xlate.array_types import Ints
from xlate.candidates.nbest import reference_rows
from xlate.errors import InputError

# Without references, numbers that leave more lines empty than so many for each list are no numbers of lines.
MOST_EMPTY = 1000
log = logging.getLogger(__name__)


def sentence_lines(
    chosen: Iterable[str],
    sentence_I: Ints,
    lengths: Sequence[int],
    first_sentence: int | None = None,
    file: str | Path | None = None,
) -> list[str]:
    """What is chosen of each of I lists, in their order, as the lines of the text that the lists are about.

    A sentence without a list gets an empty line, and a warning says how many there are.

    Args:
        chosen: a text for each list.
        sentence_I: the numbers of the lists' sentences.
        lengths: the numbers of lines of what stands beside the lists, such as references. Where there is nothing, lines
            are numbers from `first_sentence` on, from 0, or from the least where no number is left out.
        first_sentence: see `candidates.nbest_store.reference_rows`. file: the list, for the messages.

    Raises:
        InputError: the lists do not fit what stands beside them, or their numbers cannot be lines.
    """
    size, first = lengths[0] if lengths else 0, first_sentence
    if not lengths:
        size, first = _counted(sentence_I, first_sentence, file)
    lines = [""] * size
    rows = reference_rows(sentence_I, lengths or [size], first)
    for row, text in zip(rows, chosen, strict=True):
        lines[row] = text
    if len(rows) < size:
        lacking = next(row for row, held in enumerate(sorted(rows) + [size]) if row != held)
        log.warning(
            "warning: %s: %d of %d sentences have no list; each gets an empty line, the first is line %d",
            file, size - len(rows), size, lacking + 1,
        )  # fmt: skip
    return lines


def _counted(sentence_I: Ints, first: int | None, file: str | Path | None) -> tuple[int, int]:
    """How many lines numbers of sentences make, and the number of the first one."""
    least, most = int(sentence_I.min()), int(sentence_I.max())
    if first is None:
        first = least if most - least + 1 == len(sentence_I) else 0
    size = most - first + 1
    if size > (1 + MOST_EMPTY) * len(sentence_I):
        raise InputError(
            "numbers of sentences that cannot be those of lines",
            file=file,
            seen=f"{len(sentence_I)} lists, sentences {least} to {most}",
            expected="numbers that count sentences from 0",
            remedy="first_id=N is the number of the first line; source=FILE or ref=[FILE] says how many there are",
        )
    return size, first
