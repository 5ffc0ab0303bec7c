"""Checks hypotheses and references before they are scored."""

from __future__ import annotations

from collections.abc import Sequence

from xlate.errors import InputError


def checked_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The reference streams, each as long as the hypotheses, with missing references as None.

    A blank line in a stream stands for a missing reference, for which sacrebleu has None: the sentence is scored
    against its other references. Where all streams are blank, the first reference is the empty sentence, so that every
    word of a hypothesis there counts as wrong.

    Raises:
        InputError: there are no sentences or no streams, or a stream has another length (both counts are named).
    """
    if isinstance(hypotheses, str) or any(isinstance(stream, str) for stream in references):
        raise InputError(
            "sentences must come as lists",
            seen="a single string",
            expected="hypotheses as a list of strings, references as a list of such lists, one a stream",
        )
    if not hypotheses:
        raise InputError("nothing to score", seen="0 hypotheses", expected="one sentence or more")
    if not references:
        raise InputError("nothing to score against", seen="0 reference streams", expected="one or more")
    for number, stream in enumerate(references):
        if len(stream) != len(hypotheses):
            raise InputError(
                f"reference stream {number} does not fit the hypotheses",
                seen=f"{len(hypotheses)} hypotheses and {len(stream)} references",
                expected="as many of the one as of the other",
                remedy="check that both belong to the same source and that no line was lost",
            )
    streams: list[list[str | None]] = [[line if line.strip() else None for line in stream] for stream in references]
    for sentence in range(len(hypotheses)):
        if all(stream[sentence] is None for stream in streams):
            streams[0][sentence] = ""
    return streams


def by_sentence(streams: Sequence[Sequence[str | None]]) -> list[list[str]]:
    """The references of each sentence, without missing ones."""
    return [[line for line in lines if line is not None] for lines in zip(*streams, strict=True)]
