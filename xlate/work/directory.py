"""A prepared work directory, and what is loaded from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.align.links import Links, read_links
from xlate.array_types import Ints
from xlate.arrays.stored import HEADER, open_arrays
from xlate.errors import InputError
from xlate.lm.model import NgramModel
from xlate.text.documents import Documents
from xlate.text.encoded import EncodedText
from xlate.text.factors import with_factors
from xlate.text.json_files import Fields, check_fields, read_json
from xlate.text.lines import read_lines
from xlate.text.opening import plain_file
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import Vocabulary
from xlate.work import annotation_store
from xlate.work.corpus_text import CorpusText
from xlate.work.stages import MARK, read_stage

if TYPE_CHECKING:
    # Of the block models: others have no need of them.
    from xlate.phrases.blocks import BlockSet
    from xlate.phrases.matching import Matches

VOCABULARIES = "pair of vocabularies"
STAGES = ("corpus", "align", "lm", "phrases", "blocks")


@dataclass(frozen=True)
class WorkDirectory(CorpusText):
    """The folder `xlate prepare` made; everything is loaded when first asked for.

    Raises:
        InputError: (on any access) a stage is missing or was made by another version.
    """

    def check(self) -> WorkDirectory:
        """Returns itself when every stage is there; raises InputError naming the first that is not."""
        for name in STAGES:
            read_stage(self.path, name)
        return self

    @cached_property
    def identity(self) -> str:
        """The identity of the last stage, which stands on all others."""
        return read_stage(self.path, "blocks").identity

    @cached_property
    def source_vocabulary(self) -> Vocabulary:
        """The source words of the training text."""
        return self._vocabulary("source")

    @cached_property
    def target_vocabulary(self) -> Vocabulary:
        """The target words of the training text."""
        return self._vocabulary("target")

    @cached_property
    def lm(self) -> NgramModel:
        """The language model of the target."""
        return NgramModel.load(self.path / "lm" / "model")

    @cached_property
    def blocks(self) -> BlockSet:
        """The block set with its counts."""
        from xlate.phrases.blocks import BlockSet

        return BlockSet.load(self.path / "blocks" / "set", self.words)

    @property
    def words(self) -> tuple[int, int]:
        """How many source and target words there are, special ones included."""
        return len(self.source_vocabulary), len(self.target_vocabulary)

    def training_tokens(self, side: str) -> list[list[str]]:
        """The tokenised training sentences of `source` or `target`."""
        return [split_tokens(line) for line in read_lines(plain_file(self.path / "corpus" / f"train.{side}.gz"))]

    def training_text(self, side: str) -> EncodedText:
        """The numbered training sentences of `source` or `target`."""
        vocabulary = self.source_vocabulary if side == "source" else self.target_vocabulary
        return EncodedText.encode(self.training_tokens(side), vocabulary)

    @cached_property
    def encoded(self) -> tuple[EncodedText, EncodedText]:
        """Both sides of the training text."""
        return self.training_text("source"), self.training_text("target")

    @cached_property
    def links(self) -> Links:
        """The word alignment of the training text."""
        lengths = [np.diff(text.offsets_S1).tolist() for text in self.encoded]
        return read_links(plain_file(self.path / "align" / "links.gz"), *lengths)

    @cached_property
    def matches(self) -> Matches:
        """Where blocks match in the training text."""
        from xlate.phrases.matching import Matches

        return Matches.load(self.path / "blocks" / "matches", len(self.blocks))

    def settings(self, stage: str, fields: Fields) -> dict[str, Any]:
        """What a stage was made from, with these fields in it.

        Raises:
            InputError: it is missing, or its record is damaged.
        """
        path, remedy = self.path / stage / MARK, f"xlate prepare data=… work={self.path}"
        made = read_json(path, "the record of a finished stage", remedy, {"made_from": dict})["made_from"]
        check_fields(made, fields, path, remedy)
        return dict(made)

    def lm_text(self, target: EncodedText) -> EncodedText:
        """What the language model is estimated from: target sentences, and further text where it was prepared."""
        extra = self.path / "corpus" / "lm.target.gz"
        if not extra.exists():
            return target
        more = EncodedText.encode(
            [split_tokens(line) for line in read_lines(plain_file(extra))], self.target_vocabulary
        )
        return EncodedText.from_ids(text[s] for text in (target, more) for s in range(len(text)))

    def factor(self, side: str, name: str, split: str = "train", reference: int = 0) -> EncodedText:
        """A factor of `train`, `dev` or `test`: a number of `factor_vocabulary` for each token.

        The training text has the sentences of `training_text`, the source of other splits those of `source_lines`, the
        target those of a reference.

        Raises:
            InputError: the text was prepared without this factor.
        """
        return annotation_store.load_factor(self._factor_folder(side, name), split, reference)

    def factor_vocabulary(self, side: str, name: str) -> Vocabulary:
        """The values that a factor has in the training text; raises what `factor` raises."""
        return annotation_store.load_factor_vocabulary(self._factor_folder(side, name))

    @cached_property
    def copies(self) -> Ints:
        """The group of each training pair, copies having the same; see `align.copies.copy_groups`."""
        return annotation_store.load_copies(annotation_store.copies_folder(self.path / "corpus"))

    def has_documents(self, split: str = "train") -> bool:
        """Whether the documents of `train`, `dev` or `test` are known."""
        return (annotation_store.documents_folder(self.path / "corpus", split) / HEADER).exists()

    def documents(self, split: str = "train") -> Documents:
        """Which sentences of `train`, `dev` or `test` are a document.

        Raises:
            InputError: the text was prepared without documents.
        """
        if not self.has_documents(split):
            raise InputError(
                f"the documents of {split} are not known",
                file=self.path,
                expected="a corpus prepared with them",
                remedy="xlate prepare with data.documents={" + split + ": [FILE]}",
            )
        return annotation_store.load_documents(annotation_store.documents_folder(self.path / "corpus", split))

    def has_split(self, split: str) -> bool:
        """Whether there is a `dev` or `test` source."""
        return (self.path / "corpus" / f"{split}.source.gz").exists()

    def source_lines(self, split: str) -> list[str]:
        """The raw source lines of `dev` or `test`, with their factors if they have any."""
        return read_lines(plain_file(self.path / "corpus" / f"{split}.source.gz"))

    def references(self, split: str) -> list[list[str]]:
        """The raw references of `dev` or `test`, one list a reference."""
        paths = sorted((self.path / "corpus").glob(f"{split}.reference.*.gz"))
        return [read_lines(plain_file(path)) for path in paths]

    def training_sentence(self, row: int) -> list[str]:
        """The source words of a pair of the training text, with their factors if it was given any."""
        words = [self.source_vocabulary.word(word) for word in self.encoded[0][row].tolist()]
        return with_factors(words, {name: texts(row) for name, texts in self._training_factors.items()})

    @cached_property
    def _training_factors(self) -> dict[str, Callable[[int], list[str]]]:
        """The values of each source factor in a pair of the training text; none where a tagger finds them."""
        names = () if self._tagger is not None else self.factor_names("source").names

        def values(name: str) -> Callable[[int], list[str]]:
            text, known = self.factor("source", name), self.factor_vocabulary("source", name)
            return lambda row: [known.word(value) for value in text[row].tolist()]

        return {name: values(name) for name in names}

    def _factor_folder(self, side: str, name: str) -> Path:
        known = self.factor_names(side).names
        if name not in known:
            raise InputError(
                f"no such factor of the {side}",
                file=self.path,
                seen=name,
                expected=", ".join(known) or "a corpus prepared with factors",
                remedy=f"xlate prepare with data.{side}_factors=[{name}]",
            )
        return annotation_store.factor_folder(self.path / "corpus", side, name)

    def _vocabulary(self, side: str) -> Vocabulary:
        corpus = self.path / "corpus"
        open_arrays(corpus, VOCABULARIES, {})
        return Vocabulary.load(corpus / f"vocabulary.{side}")
