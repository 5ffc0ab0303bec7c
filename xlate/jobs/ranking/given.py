"""The n-best list that a configuration names, and its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.candidates.nbest import NbestArrays, nbest_arrays, reference_rows
from xlate.config.nbest_schema import GivenListsConfig
from xlate.features.hypothesis_text import TextTemplates
from xlate.formats.nbest_file import NbestFile
from xlate.formats.nbest_list import Hypothesis, one_source
from xlate.text.lines import read_lines
from xlate.text.parallel import check_reference
from xlate.text.tokens import split_tokens


def given_list(config: GivenListsConfig, path: str) -> NbestFile:
    """A list, read as the configuration says.

    Raises:
        InputError: settings that do not go together.
    """
    added, others = tuple(config.add_scores), tuple(config.merge)
    return NbestFile(path, config.nbest_format, config.nbest_size, config.nbest_duplicates, added, others)


@dataclass(frozen=True)
class ListText:
    """The words of lists and, where known, of their sources; `lines` are the sources as they were given, `line_C` the
    lines of the hypotheses in the file.
    """

    hypotheses: list[list[list[str]]]
    sources: list[list[str]] | None
    lines: list[str] | None
    line_C: Ints

    @classmethod
    def read(cls, nbest: NbestFile, source: str | None, first_id: int | None) -> tuple[NbestArrays, ListText]:
        """A list as arrays, and its words with those of its sources: lines of the file `source`, or what it says."""
        lists = list(nbest.lists())
        arrays = nbest_arrays(lists, nbest.path)
        words = [[split_tokens(hypothesis.text) for hypothesis in rows] for rows in lists]
        lines = source_lines(lists, nbest.path, source, first_id)
        tokens = None if lines is None else [split_tokens(line) for line in lines]
        line_C = np.array([hypothesis.line for rows in lists for hypothesis in rows], dtype=np.int64)
        return arrays, cls(words, tokens, lines, line_C)

    def features(self, templates: TextTemplates) -> Iterable[list[list[str]]]:
        """The features of every hypothesis, list by list, one for each time it has them."""
        for number, hypotheses in enumerate(self.hypotheses):
            source = None if self.sources is None else self.sources[number]
            pairs, length = templates.pairs_of(source), len(hypotheses[0] if source is None else source)
            yield [list(templates.features(words, pairs, length)) for words in hypotheses]


def source_lines(
    lists: Sequence[list[Hypothesis]], file: str | Path, source: str | None, first_id: int | None
) -> list[str] | None:
    """The source of each list of `file`: lines of the file `source`, else what the lists say; None without either.

    Raises:
        InputError: a sentence that is not in the file, or that the list says another source of.
    """
    if source is None:
        said = [group[0].source for group in lists]
        found = [line for line in said if line is not None]
        return found if len(found) == len(said) else None
    lines, sentence_I = read_lines(source), np.array([group[0].sentence for group in lists], dtype=np.int64)
    rows = reference_rows(sentence_I, [len(lines)], first_id, what="sources", file=source)
    for group, row in zip(lists, rows, strict=True):
        one_source(group, lines[row], file, f"{source}:{row + 1}")
    return [lines[row] for row in rows]


def read_references(paths: Sequence[str], sentence_I: Ints, first_id: int | None) -> list[list[str]]:
    """The lines of each reference file of some lists.

    Raises:
        InputError: files of different lengths, or that do not fit the lists.
    """
    streams = [read_lines(path) for path in paths]
    for path, stream in zip(paths, streams, strict=True):
        check_reference(path, len(stream), len(streams[0]))
    if streams:
        reference_rows(sentence_I, [len(streams[0])], first_id, file=paths[0])
    return streams
