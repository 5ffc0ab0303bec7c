"""A prepared work directory, and what is loaded from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.align.links import Links, read_links
from xlate.arrays.stored import HEADER, open_arrays
from xlate.errors import InputError
from xlate.jobs.prepare import annotation_store
from xlate.jobs.prepare.prepared_side import PreparedSide
from xlate.jobs.prepare.stages import MARK, read_stage
from xlate.jobs.prepare.tagging import TAGGER, kept_tagger
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import Matches
from xlate.text.documents import Documents
from xlate.text.encoded import EncodedText
from xlate.text.factors import FactorNames, with_factors
from xlate.text.json_files import Fields, check_fields, read_json
from xlate.text.lines import read_lines
from xlate.text.tagging.tagger import POS, Tagger
from xlate.text.tokens import Preprocessor, split_tokens
from xlate.text.truecase import Truecaser
from xlate.text.vocabulary import Vocabulary

VOCABULARIES = "pair of vocabularies"
PREPROCESSING = {"source_language": str, "target_language": str, "tokenize": bool, "case": str}
FACTORS: Fields = {"source": list, "target": list, "separator": str}
STAGES = ("corpus", "align", "lm", "phrases", "blocks")


@dataclass(frozen=True)
class WorkDirectory:
    """The folder `xlate prepare` made; everything is loaded when first asked for.

    Raises:
        InputError: (on any access) a stage is missing or was made by another version.
    """

    path: Path

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
    def preprocessing(self) -> dict[str, Any]:
        """Languages, tokenisation and casing."""
        path, remedy = self.path / "corpus" / "preprocessing.json", f"remove {self.path / 'corpus'} and prepare again"
        return read_json(path, "languages, tokenisation and casing", remedy, PREPROCESSING)

    @property
    def lowercased(self) -> bool:
        """Whether its text was lowercased, so that its translations are."""
        return bool(self.preprocessing["case"] == "lower")

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
        return BlockSet.load(self.path / "blocks" / "set", self.words)

    @property
    def words(self) -> tuple[int, int]:
        """How many source and target words there are, special ones included."""
        return len(self.source_vocabulary), len(self.target_vocabulary)

    def training_tokens(self, side: str) -> list[list[str]]:
        """The tokenised training sentences of `source` or `target`."""
        return [split_tokens(line) for line in read_lines(self.path / "corpus" / f"train.{side}.gz")]

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
        return read_links(self.path / "align" / "links.gz", *lengths)

    @cached_property
    def matches(self) -> Matches:
        """Where blocks match in the training text."""
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
        more = EncodedText.encode([split_tokens(line) for line in read_lines(extra)], self.target_vocabulary)
        return EncodedText.from_ids(text[s] for text in (target, more) for s in range(len(text)))

    def factor_names(self, side: str) -> FactorNames:
        """The factors of `source` or `target`, in their order; none for most corpora.

        Lines may carry them behind their words, or a tagger finds them (`data.tagger`).
        """
        if side == "source" and "tagger" in self.preprocessing:
            return FactorNames((POS,))
        return self._names_in_lines(side)

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
    def copies(self) -> NDArray[np.int64]:
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
        return read_lines(self.path / "corpus" / f"{split}.source.gz")

    def references(self, split: str) -> list[list[str]]:
        """The raw references of `dev` or `test`, one list a reference."""
        paths = sorted((self.path / "corpus").glob(f"{split}.reference.*.gz"))
        return [read_lines(path) for path in paths]

    def source_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one source line as the training text was; the words of a line with factors bring them.

        Raises:
            InputError: some tokens of the line have factors and some have not, or one has too many or too few.
        """
        words = self._source_side.cased(self._source_words(line))
        return words if self._tagger is not None else with_factors(words, self.source_factors(line))

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

    def source_factors(self, line: str) -> dict[str, list[str]]:
        """The values of each factor of a source line, one a token; none for a plain line that no tagger reads.

        Raises:
            InputError: as `source_tokens` does; the tagger that the text was prepared with is not there.
        """
        if self._tagger is not None:
            return {POS: self._tagger.tags(self._source_words(line))}
        names = self._names_in_lines("source")
        return names.split(line)[1] if names.names else {}

    @property
    def has_tagger(self) -> bool:
        """Whether the text was prepared with a tagger."""
        return self._tagger is not None

    def source_tags(self, words: Sequence[str]) -> list[str]:
        """The tags of a sentence's tokens by the tagger that the text was prepared with.

        Raises:
            InputError: it was prepared without one.
        """
        if self._tagger is None:
            raise InputError(
                "text without a tagger",
                file=self.path,
                seen="data.tagger=null",
                expected="a work directory prepared with data.tagger=hanta or classes",
            )
        return self._tagger.tags(words)

    def target_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one target line, such as a reference, as the training text was."""
        return self._target_side.tokens(line)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:
        """One output line: sentence case restored and, when asked, detokenised."""
        return self._target_side.text(tokens, detokenize)

    def _source_words(self, line: str) -> list[str]:
        """The tokens of a source line as they were written."""
        names = self._names_in_lines("source")
        return names.split(line)[0] if names.names else self._source_side.preprocessor.tokens(line)

    @cached_property
    def _tagger(self) -> Tagger | None:
        """What tags source lines; None for most corpora."""
        held = self.preprocessing.get("tagger")
        if held is None:
            return None
        corpus = self.path / "corpus"
        check_fields(held, TAGGER, corpus / "preprocessing.json", f"remove {corpus} and prepare again")
        return kept_tagger(held, self.preprocessing["source_language"], corpus)

    def _names_in_lines(self, side: str) -> FactorNames:
        """The factors that lines of a side may carry behind their words."""
        return self._factor_names.get(side, FactorNames())

    @cached_property
    def _factor_names(self) -> dict[str, FactorNames]:
        held = self.preprocessing.get("factors")
        if held is None:
            return {}
        file, remedy = self.path / "corpus" / "preprocessing.json", f"remove {self.path / 'corpus'} and prepare again"
        check_fields(held, FACTORS, file, remedy)
        return {side: FactorNames(tuple(held[side]), held["separator"]) for side in ("source", "target")}

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
        # Work directories of earlier versions have no checksums of their vocabularies.
        if (corpus / HEADER).exists():
            open_arrays(corpus, VOCABULARIES, {})
        return Vocabulary.load(corpus / f"vocabulary.{side}")

    @cached_property
    def _source_side(self) -> PreparedSide:
        return self._side("source")

    @cached_property
    def _target_side(self) -> PreparedSide:
        return self._side("target")

    def _side(self, side: str) -> PreparedSide:
        settings, path = self.preprocessing, self.path / "corpus" / f"truecase.{side}"
        preprocessor = Preprocessor(settings[f"{side}_language"], tokenize=settings["tokenize"])
        return PreparedSide(preprocessor, settings["case"], Truecaser.load(path) if path.exists() else None)
