"""The text of Moses's own tables."""

from __future__ import annotations

from pathlib import Path

from xlate.align.links import Links, read_links
from xlate.text.lines import read_lines
from xlate.text.tokens import split_tokens


def moses_corpus(shared_data: Path) -> tuple[list[list[str]], list[list[str]], Links]:
    """The sentences of both sides, and the links that Moses extracted phrases from."""
    moses = shared_data / "moses"
    source, target = (
        [split_tokens(line) for line in read_lines(moses / "corpus" / f"train.tok.{side}.gz")] for side in ("de", "en")
    )
    lengths = [len(sentence) for sentence in source], [len(sentence) for sentence in target]
    return source, target, read_links(moses / "align" / "train.grow-diag-final-and.de-en.gz", *lengths)
