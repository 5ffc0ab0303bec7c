"""A prepared work directory, and what is loaded from it.

Besides the words of a text it holds factors (a numbered value per token), documents (ranges of sentences), copies
(groups of sentence pairs) and, if the text itself is absent, perhaps the counts of words. It also determines how lines
become tokens, and words become lines again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xlate.align.links import Links, check_positions
from xlate.array_types import AnyInts, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.arrays.ranges import check_lengths, check_offsets, check_rising, check_shapes, check_within
from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import HEADER, StoredArrays, arrays_of, layout_of, open_arrays, read_header, save_arrays
from xlate.errors import InputError
from xlate.lm.model import NgramModel
from xlate.settings import Json
from xlate.text.classes import POS, Tagger
from xlate.text.documents import Documents
from xlate.text.factors import FactorNames, with_factors
from xlate.text.folders import Fields, check_fields, read_json
from xlate.text.lines import iterate_lines, read_lines, write_lines
from xlate.text.opening import plain_file
from xlate.text.tokens import PreparedSide, Preprocessor, Truecaser, letters_of, split_tokens
from xlate.text.vocabulary import EncodedText, Numbering, TokenText, Vocabulary
from xlate.text.word_parts import WordSplitter
from xlate.work.corpus_files import SIDES, TAGGER, kept_tagger
from xlate.work.stages import Stage, finished_stage, identity_of, read_stage, run_stage

if TYPE_CHECKING:
    from xlate.lm.arpa import ArpaModel
    from xlate.lm.kneser_ney import Windows
    from xlate.phrases.blocks import BlockSet
    from xlate.phrases.matching import Matches
    from xlate.phrases.runs import PairCounts, Runs
    from xlate.phrases.table import PhraseTable
FACTOR_VOCABULARY = "vocabulary of a factor"
TEXT = "numbered text"
DOCUMENTS = "documents of a text"
COPIES = "list of copies"
LINKS = "links of a text"
NAMES = "names"
# Lines of further text that are split into words at a time.
LINES = 1 << 16


def save_text(folder: Path, text: EncodedText) -> None:
    """Writes numbered sentences into a folder."""
    save_arrays(folder, TEXT, arrays_of(text))


def load_text(folder: Path, words: int) -> EncodedText:
    """Reads what `save_text` wrote, memory-mapped; raises InputError if it is missing or damaged."""

    def check(stored: StoredArrays) -> None:
        check_within(stored, "ids_T", 0, words)
        check_offsets(stored, "offsets_S1", len(stored["ids_T"]))

    return EncodedText(**open_arrays(folder, TEXT, layout_of(EncodedText)[0], check).arrays)


def _part(split: str, number: int) -> str:
    return f"{split}.{number}" if number else split


def save_factor(folder: Path, split: str, values: Sequence[Sequence[str]], reference: int = 0) -> None:
    """Writes a factor of a split; call it for `train` first, which defines the numbers."""
    if split == "train":
        folder.mkdir(parents=True, exist_ok=True)
        Vocabulary.build(values).save(folder / "vocabulary")
        save_arrays(folder, FACTOR_VOCABULARY, {}, files=["vocabulary"])
    save_text(folder / _part(split, reference), EncodedText.encode(values, load_factor_vocabulary(folder)))


def load_factor_vocabulary(folder: Path) -> Vocabulary:
    """The values of a factor in the training text.

    Raises:
        InputError: there is none, or it is damaged.
    """
    open_arrays(folder, FACTOR_VOCABULARY, {})
    return Vocabulary.load(folder / "vocabulary")


def load_factor(folder: Path, split: str, reference: int = 0) -> EncodedText:
    """The numbered values of a factor in a split, one per token.

    Raises:
        InputError: there are none, or they are damaged.
    """
    return load_text(folder / _part(split, reference), len(load_factor_vocabulary(folder)))


def save_documents(folder: Path, documents: Documents) -> None:
    """Writes documents with their names into a folder."""
    write_lines(folder / NAMES, documents.names)
    metadata = {"sentences": documents.sentences}
    save_arrays(folder, DOCUMENTS, {"offsets_D1": documents.offsets_D1}, metadata, files=[NAMES])


def load_documents(folder: Path) -> Documents:
    """Reads what `save_documents` wrote.

    Raises:
        InputError: it is missing or damaged.
    """

    def check(stored: StoredArrays) -> None:
        check_offsets(stored, "offsets_D1", stored.number("sentences"))
        check_rising(stored, "offsets_D1", strictly=True)

    stored = open_arrays(folder, DOCUMENTS, {"offsets_D1": ("<i8", 1)}, check)
    names = read_lines(folder / NAMES)
    check_lengths(stored, offsets_D1=(len(names) + 1,))
    return Documents(names, np.asarray(stored["offsets_D1"]))


def save_copies(folder: Path, group_S: Ints) -> None:
    """Writes the groups of copies of a training text; see `align.copies.copy_groups`."""
    save_arrays(folder, COPIES, {"group_S": group_S})


def load_copies(folder: Path) -> Ints:
    """Reads what `save_copies` wrote.

    Raises:
        InputError: it is missing or damaged.
    """

    def check(stored: StoredArrays) -> None:
        check_within(stored, "group_S", 0, len(stored["group_S"]))

    return open_arrays(folder, COPIES, {"group_S": ("<i8", 1)}, check, mapped=False)["group_S"]


# What the corpus stage learns from the training text: how words are cased on each side, and the parts of source words
# with their counts.
TRUECASE, PARTS_OF_WORDS = "truecase.", "word_parts.source"


PREPROCESSING = {"source_language": str, "target_language": str, "tokenize": bool, "case": str}
FACTORS: Fields = {"source": list, "target": list, "separator": str}


VOCABULARIES = "pair of vocabularies"
PLAN = "plan.json"
# Stages that are made when they are first needed, and what the plan of each says.
PLANNED: dict[str, Fields] = {
    "lm": {"settings": dict},
    "phrases": {"max_length": int, "min_count": int},
    "blocks": {"settings": dict},
}
STAGES = ("corpus", "align", *PLANNED)


class TextSides(ABC):
    """How lines become tokens, and tokens lines: as a work directory or an imported system does it, or unchanged."""

    @property
    @abstractmethod
    def _sides(self) -> Mapping[str, PreparedSide]:
        """How lines of each side are read and written."""

    @property
    def casers(self) -> dict[str, Truecaser]:
        """The truecaser of each side; none if the text is not truecased."""
        return {name: side.caser for name, side in self._sides.items() if side.caser is not None}

    def source_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one source line, as the system knows its words."""
        return self._sides["source"].tokens(line)

    def target_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one target line, such as a reference, as the training text was."""
        return self._sides["target"].tokens(line)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:
        """One output line: sentence case restored and, if requested, detokenised."""
        return self._sides["target"].text(tokens, detokenize)


@dataclass(frozen=True)
class WorkDirectory(TextSides):
    """The folder that `xlate prepare` made; everything is loaded on first use, and planned stages are made then.

    Attributes:
        path: the folder.

    Raises:
        InputError: (on any access) a stage is missing or was made by another version.
    """

    path: Path

    def check(self) -> WorkDirectory:
        """Returns itself if corpus, links and plan exist; raises InputError naming the first that does not."""
        for name in STAGES:
            if name not in PLANNED:
                read_stage(self.path, name)
        _ = self.plan
        return self

    @cached_property
    def plan(self) -> Json:
        """What the planned stages are made from, and `memory_mb`, the megabytes for the counts of each.

        Raises:
            InputError: there is no plan, or it is damaged.
        """
        path, remedy = self.path / PLAN, f"xlate prepare data=… work={self.path}"
        plan = read_json(
            path, "the plan of a work directory", remedy, {**dict.fromkeys(PLANNED, dict), "memory_mb": int}
        )
        for name, fields in PLANNED.items():
            check_fields(plan[name], {"on": list, **fields}, path, remedy)
        return plan

    @property
    def smoothing(self) -> str:
        """How the relative frequencies of phrases are smoothed; see `phrase_shares`."""
        return str(self.plan["phrases"].get("smoothing", "none"))

    def stage(self, name: str) -> Stage:
        """A stage; a planned one is made now if it is not there yet.

        Raises:
            InputError: it cannot be made; a stage that other stages need is missing.
        """
        if name not in PLANNED:
            return read_stage(self.path, name)
        return finished_stage(self.path, name, self.plan[name]) or self.make(name)

    def make(self, name: str) -> Stage:
        """A planned stage, made now if it is not there yet or damaged; raises what `stage` raises."""
        from xlate.work.text_stages import BUILDERS

        return run_stage(self.path, name, self.plan[name], partial(BUILDERS[name], self, self.plan[name]))

    @cached_property
    def identity(self) -> str:
        """The identity of the last stage, which depends on all others."""
        return self.identities("blocks")[0]

    def identities(self, *stages: str) -> list[str]:
        """The identities of some stages, for what is made from them; makes none."""
        return [
            identity_of(self.plan[name]) if name in PLANNED else read_stage(self.path, name).identity for name in stages
        ]

    @cached_property
    def vocabularies(self) -> dict[str, Vocabulary]:
        """The words of both sides of the training text, and of its further translations."""
        corpus = self.path / "corpus"
        open_arrays(corpus, VOCABULARIES, {})
        names = read_header(corpus, VOCABULARIES)["files"]
        return {name.removeprefix("vocabulary."): Vocabulary.load(corpus / name) for name in names}

    @property
    def source_vocabulary(self) -> Vocabulary:
        """The source words of the training text."""
        return self.vocabularies["source"]

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The target words of the training text."""
        return self.vocabularies["target"]

    @cached_property
    def lm(self) -> NgramModel:
        """The language model of the target."""
        return NgramModel.load(self.stage("lm").folder / "model")

    @cached_property
    def table(self) -> PhraseTable:
        """The phrase table."""
        from xlate.phrases.table import PhraseTable

        return PhraseTable.load(self.stage("phrases").folder / "table", self.words)

    @cached_property
    def blocks(self) -> BlockSet:
        """The block set with its counts."""
        from xlate.phrases.blocks import BlockSet

        return BlockSet.load(self.stage("blocks").folder / "set", self.words)

    @property
    def words(self) -> tuple[int, int]:
        """The number of source and target words, including special ones."""
        return len(self.source_vocabulary), len(self.target_vocabulary)

    def training_tokens(self, side: str) -> TokenText:
        """The tokenised training sentences of `source` or `target`."""
        return TokenText(self.vocabularies[side].words, self.training_text(side))

    def training_text(self, side: str) -> EncodedText:
        """The numbered training sentences of `source` or `target`, memory-mapped."""
        return load_text(self.path / "corpus" / f"train.{side}", len(self.vocabularies[side]))

    @cached_property
    def encoded(self) -> tuple[EncodedText, EncodedText]:
        """Both sides of the training text."""
        return self.training_text("source"), self.training_text("target")

    @cached_property
    def links(self) -> Links:
        """The word alignment of the training text."""
        source, target = self.encoded

        def check(stored: StoredArrays) -> None:
            check_shapes(stored)
            check_lengths(stored, offsets_S1=(len(source) + 1,))
            check_offsets(stored, "offsets_S1", len(stored["source_L"]))
            check_positions(Links(**stored.arrays), np.diff(source.offsets_S1), np.diff(target.offsets_S1))

        return Links(**open_arrays(self.path / "align" / "links", LINKS, layout_of(Links)[0], check).arrays)

    def pairs(self, rows: AnyInts) -> tuple[EncodedText, EncodedText, Links]:
        """Source, target and links of some training pairs."""
        source, target = (text.select(rows) for text in self.encoded)
        return source, target, self.links.select(rows)

    @cached_property
    def matches(self) -> Matches:
        """Where blocks match in the training text."""
        from xlate.phrases.matching import Matches

        return Matches.load(self.stage("blocks").folder / "matches", len(self.blocks))

    def whole_lm(self, order: int, scratch: Scratch, counted: Sequence[Windows]) -> ArpaModel:
        """The language model of the target, as it is to be stored; its windows may have been `counted`."""
        target = self.training_text("target")
        return self.estimated_lm(target.part(0, 0) if counted else target, order, scratch=scratch, counted=counted)

    def whole_table(self, counts: PairCounts, runs: Runs) -> PhraseTable:
        """The phrase pairs seen often enough with their scores, as they are to be stored, maybe in files of `runs`."""
        from xlate.align.lexical import lexical_table
        from xlate.phrases.table import score_phrases

        table = score_phrases(counts, lexical_table(*self.encoded, self.links), runs, self.smoothing)
        least = self.plan["phrases"]["min_count"]
        return table.select(np.asarray(table.count_B) >= least) if least > 1 else table

    def estimated_lm(
        self,
        target: EncodedText,
        order: int | None = None,
        vocabulary: Vocabulary | None = None,
        scratch: Scratch | None = None,
        counted: Sequence[Windows] = (),
    ) -> ArpaModel:
        """The language model of target sentences and, if it was prepared, of further text; perhaps a mixture of both.

        Windows that were `counted` in other sentences are added. The default order is that of the language model of the
        whole text, and the default vocabulary that of the text.
        """
        from xlate.lm.kneser_ney import estimate
        from xlate.phrases.mixture import mixed_lm

        words, extra = vocabulary or self.target_vocabulary, self.path / "corpus" / "lm.target.gz"
        settings = self.plan["lm"]["settings"]
        order = order or settings["order"]
        more = map(split_tokens, iterate_lines(plain_file(extra))) if extra.exists() else iter(())

        def texts(lines: Iterator[list[str]]) -> Iterator[EncodedText]:
            return (EncodedText.encode(batch, words) for batch in iter(lambda: list(islice(lines, LINES)), []))

        def model(texts: Iterable[EncodedText], counted: Sequence[Windows] = ()) -> ArpaModel:
            ids_T, lengths_S = (scratch or Scratch()).stored((text.ids_T, np.diff(text.offsets_S1)) for text in texts)
            return estimate(EncodedText(ids_T, offsets_of(lengths_S)), words, order, scratch, counted)

        if "texts" not in settings:
            return model(chain([target], texts(more)), counted)
        models = [model([target], counted), *(model(texts(islice(more, lines))) for lines in settings["texts"])]
        dev = [*map(self.target_tokens, self.references("dev")[0])]
        return mixed_lm(models, EncodedText.encode(dev, words))

    def factor(self, side: str, name: str, split: str = "train", reference: int = 0) -> EncodedText:
        """A factor of `train`, `dev` or `test`: a number of `factor_vocabulary` per token.

        Its sentences are those of `training_text`; in other splits, those of `source_lines` on the source side, and of
        a reference on the target side.

        Raises:
            InputError: the text was prepared without this factor.
        """
        return load_factor(self._factor_folder(side, name), split, reference)

    def factor_vocabulary(self, side: str, name: str) -> Vocabulary:
        """The values of a factor in the training text; raises what `factor` raises."""
        return load_factor_vocabulary(self._factor_folder(side, name))

    @cached_property
    def copies(self) -> Ints:
        """The group of each training pair, equal for copies; see `align.copies.copy_groups`."""
        return load_copies(self.path / "corpus" / "copies")

    def documents(self, split: str = "train") -> Documents:
        """Which sentences of `train`, `dev` or `test` form a document.

        Raises:
            InputError: the text was prepared without documents.
        """
        folder = self.path / "corpus" / "documents" / split
        if not (folder / HEADER).exists():
            raise InputError(
                f"the documents of {split} are unknown",
                file=self.path,
                expected="a corpus prepared with them",
                remedy="xlate prepare with data.documents={" + split + ": [FILE]}",
            )
        return load_documents(folder)

    def has_split(self, split: str) -> bool:
        """Whether there is a `dev` or `test` source."""
        return (self.path / "corpus" / f"{split}.source.gz").exists()

    def source_lines(self, split: str) -> list[str]:
        """The raw source lines of `dev` or `test`, with their factors if they have any."""
        return read_lines(plain_file(self.path / "corpus" / f"{split}.source.gz"))

    def references(self, split: str) -> list[list[str]]:
        """The raw references of `dev` or `test`, one list per reference."""
        paths = sorted((self.path / "corpus").glob(f"{split}.reference.*.gz"))
        return [read_lines(plain_file(path)) for path in paths]

    def training_sentence(self, row: int) -> list[str]:
        """The source words of a training pair, with their factors if the text has any."""
        words = [*self.source_vocabulary.words_of(self.encoded[0][row])]
        return with_factors(words, {name: texts(row) for name, texts in self._training_factors.items()})

    def training_references(self, row: int) -> list[Ints32]:
        """The target of a training pair and its further translations, (words,) each, numbered by `Numbering`."""
        numbering = Numbering(self.target_vocabulary, self.source_vocabulary.words_of(self.encoded[0][row]))
        return [numbering.ids(text[row]) for text in self.training_targets]

    @cached_property
    def training_targets(self) -> list[TokenText]:
        """The target of the training text, and its further translations."""
        return [self.training_tokens(name) for name in self.vocabularies if name != "source"]

    @cached_property
    def _training_factors(self) -> dict[str, Callable[[int], list[str]]]:
        """The values of each source factor in a training pair; none if a tagger supplies them."""
        names = () if self._tagger is not None else self.factor_names("source").names

        def values(name: str) -> Callable[[int], list[str]]:
            text, known = self.factor("source", name), self.factor_vocabulary("source", name)
            return lambda row: [*known.words_of(text[row])]

        return {name: values(name) for name in names}

    def _factor_folder(self, side: str, name: str) -> Path:
        known = self.factor_names(side).names
        if name not in known:
            raise InputError(
                f"no such factor of the {side}",
                name,
                ", ".join(known) or "a corpus prepared with factors",
                f"xlate prepare with data.{side}_factors=[{name}]",
                file=self.path,
            )
        return self.path / "corpus" / "factors" / f"{side}.{name}"

    @cached_property
    def preprocessing(self) -> Json:
        """Languages, tokenisation and casing."""
        corpus = self.path / "corpus"
        path, remedy = corpus / "preprocessing.json", f"remove {corpus} and prepare again"
        settings = read_json(path, "languages, tokenisation and casing", remedy, PREPROCESSING)
        for name, fields in {"factors": FACTORS, "tagger": TAGGER}.items():
            if settings.get(name) is not None:
                check_fields(settings[name], fields, path, remedy)
        return settings

    @property
    def lowercased(self) -> bool:
        """Whether its text, and thus every translation, is lowercased."""
        return bool(self.preprocessing["case"] == "lower")

    def factor_names(self, side: str) -> FactorNames:
        """The factors of `source` or `target`, in order; none for most corpora.

        They follow the words in the lines, or a tagger supplies them (`data.tagger`).
        """
        if side == "source" and "tagger" in self.preprocessing:
            return FactorNames((POS,))
        return self._factor_names[side]

    def source_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one source line as the training text was; words of a factored line keep their factors.

        Raises:
            InputError: some tokens of the line have factors and some do not, or one has too many or too few.
        """
        words = self._sides["source"].cased(self._source_words(line))
        return words if self._tagger is not None else with_factors(words, self.source_factors(line))

    def source_factors(self, line: str) -> dict[str, list[str]]:
        """The values of each factor of a source line, one per token; none for a plain line without a tagger.

        Raises:
            InputError: as `source_tokens`; the tagger that the text was prepared with is missing.
        """
        if self._tagger is not None:
            return {POS: self._tagger.tags(self._source_words(line))}
        names = self._factor_names["source"]
        return names.split(line)[1] if names.names else {}

    def source_tags(self, words: Sequence[str]) -> list[str]:
        """The tags of a sentence's tokens, by the tagger that the text was prepared with.

        Raises:
            InputError: it was prepared without one.
        """
        if self._tagger is None:
            raise InputError(
                "text without a tagger",
                "data.tagger=null",
                "a work directory prepared with data.tagger=hanta or classes",
                file=self.path,
            )
        return self._tagger.tags(words)

    def _source_words(self, line: str) -> list[str]:
        """The tokens of a source line in their original casing."""
        names = self._factor_names["source"]
        return names.split(line)[0] if names.names else self._sides["source"].preprocessor.tokens(line)

    @cached_property
    def _tagger(self) -> Tagger | None:
        """The tagger of source lines; None for most corpora."""
        held = self.preprocessing.get("tagger")
        language = self.preprocessing["source_language"]
        return None if held is None else kept_tagger(held, language, self.path / "corpus")

    @cached_property
    def _factor_names(self) -> dict[str, FactorNames]:
        """The factors that may follow the words in the lines of each side."""
        held = self.preprocessing.get("factors")
        if held is None:
            return dict.fromkeys(SIDES, FactorNames())
        return {side: FactorNames(tuple(held[side]), held["separator"]) for side in SIDES}

    @cached_property
    def _sides(self) -> dict[str, PreparedSide]:
        settings, sides = self.preprocessing, {}
        for side in SIDES:
            corpus = self.path / "corpus"
            preprocessor = Preprocessor(settings[f"{side}_language"], tokenize=settings["tokenize"])
            caser = Truecaser.load(path) if (path := corpus / f"{TRUECASE}{side}").exists() else None
            split = settings.get("split", []) if side == "source" else []
            splitter = WordSplitter.load(corpus / PARTS_OF_WORDS, split) if split else None
            drops = side == "target" and "drop_copied" in settings
            letters = letters_of(self.target_vocabulary.words) if drops else None
            sides[side] = PreparedSide(preprocessor, settings["case"], caser, splitter, letters)
        return sides


WORD_COUNTS, COUNTS_OF_WORDS = "word_counts", "counts of words"


def word_counts(work: WorkDirectory, side: str) -> Ints:
    """The count of each word of the vocabulary of `source` or `target`, (V,): as stored, or else from the text.

    Raises:
        InputError: the stored counts are damaged, or there is neither.
    """
    words = len(work.vocabularies[side])
    kept = work.path / WORD_COUNTS / side
    if not (kept / HEADER).exists():
        return np.bincount(work.training_text(side).ids_T, minlength=words)
    stored = open_arrays(kept, COUNTS_OF_WORDS, {"count_V": ("<i8", 1)})
    check_lengths(stored, count_V=(words,))
    return stored["count_V"]


def keep_word_counts(work: WorkDirectory, side: str, into: Path) -> None:
    """Stores the counts in another folder, which is like a work directory but has no text."""
    save_arrays(into / WORD_COUNTS / side, COUNTS_OF_WORDS, {"count_V": word_counts(work, side).astype(np.int64)})
