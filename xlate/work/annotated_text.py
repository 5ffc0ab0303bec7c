"""Pairs of lines with what stands beside them: factors and documents, read from the files of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xlate.progress import track
from xlate.text.documents import Documents, joined_documents, read_documents
from xlate.text.factors import FactoredLines, joined_lines, read_factored
from xlate.text.lines import check_reference, check_sides
from xlate.text.tagging import POS, Tagger
from xlate.work.corpus_files import CorpusFiles
from xlate.work.corpus_settings import side_factors
from xlate.work.settings import DataConfig


@dataclass(frozen=True)
class AnnotatedText:
    """A source, its translations (one of the training text, any number elsewhere) and perhaps its documents."""

    source: FactoredLines
    targets: list[FactoredLines]
    documents: Documents | None

    def rows(self, rows: Iterable[int]) -> AnnotatedText:
        """Some of the sentences, in their order."""
        chosen = list(rows)
        documents = None if self.documents is None else self.documents.rows(chosen)
        return AnnotatedText(self.source.rows(chosen), [target.rows(chosen) for target in self.targets], documents)


def with_tags(text: AnnotatedText, tagger: Tagger, sentences: Sequence[Sequence[str]]) -> AnnotatedText:
    """A text with the tags of its source; `sentences` are the source's words as they were written."""
    tags = [tagger.tags(words) for words in track(sentences, "tagging")]
    return replace(text, source=replace(text.source, factors={POS: tags}))


def read_side(split: str, side: str, number: int, files: CorpusFiles, data: DataConfig) -> FactoredLines:
    """One text of a split with its factors; raises what `read_factored` raises."""
    joined = side_factors(data, files, side).joined
    return read_factored(files.texts(split, side)[number], joined, files.factors_of(split, side, number))


def documents_of(split: str, lengths: list[int], files: CorpusFiles, data: DataConfig) -> Documents | None:
    """The documents of a split whose files have so many lines; raises what `read_documents` raises."""
    if split not in files.documents:
        return None
    paths = zip(files.documents[split], lengths, strict=True)
    return joined_documents([read_documents(path, length, data.document_pattern) for path, length in paths])


def read_training(files: CorpusFiles, data: DataConfig) -> AnnotatedText:
    """The training text of all its files.

    Raises:
        InputError: sides of unequal length; a file that cannot be used.
    """
    sides: list[list[FactoredLines]] = [[], []]
    for number, path in enumerate(files.train_source):
        source, target = (read_side("train", side, number, files, data) for side in ("source", "target"))
        check_sides(path, len(source), files.train_target[number], len(target))
        sides[0].append(source)
        sides[1].append(target)
    documents = documents_of("train", [len(text) for text in sides[0]], files, data)
    return AnnotatedText(joined_lines(sides[0]), [joined_lines(sides[1])], documents)


def read_split(split: str, files: CorpusFiles, data: DataConfig) -> AnnotatedText:
    """The source of `dev` or `test` and its references.

    Raises:
        InputError: a reference of another length; a file that cannot be used.
    """
    source = read_side(split, "source", 0, files, data)
    references = []
    for number, path in enumerate(files.texts(split, "target")):
        references.append(read_side(split, "target", number, files, data))
        check_reference(path, len(references[-1]), len(source))
    return AnnotatedText(source, references, documents_of(split, [len(source)], files, data))
