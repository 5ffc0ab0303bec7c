"""Parts of a text, tokenised and cased by tasks of `xlate prepare` or by forked processes.

The lines of all files are first written into plain files of one part each. A part can also be some sentences of another
work directory, the base. It is tokenised, and unusable pairs are left out; once all parts are, casing and parts of
words are learned; then it is cased and split. All numbers in it are its own: of its words, its lines and its sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from xlate.align.copies import digests
from xlate.array_types import NO_INTS, Ints
from xlate.arrays.ranges import pieces
from xlate.arrays.stored import load_part, save_part
from xlate.progress import track
from xlate.settings import Json
from xlate.text.factors import read_factored
from xlate.text.lines import check_length, check_sides, drop_unusable, iterate_lines, write_lines
from xlate.text.tokens import PreparedSide, Preprocessor, Truecaser, form_counts, untokenized_lines
from xlate.text.vocabulary import EncodedText, TokenText
from xlate.text.word_parts import WordSplitter
from xlate.work.corpus_files import SIDES, CorpusFiles, word_splits
from xlate.work.directory import PARTS_OF_WORDS, TRUECASE, WorkDirectory

PARTS = "corpus-parts"
LINES, CASING = f"{PARTS}/lines", f"{PARTS}/casing"
# The lines of a part.
PART = 1 << 14


@dataclass(frozen=True)
class PartSide:
    """A side of a part.

    Attributes:
        tokens: its sentences.
        count_V: of each word. Before casing only places count that do not force a capital.
        line_S: the line of each sentence. digest_S: see `align.copies.digests`. Both only before casing.
    """

    tokens: TokenText
    count_V: Ints
    line_S: Ints
    digest_S: Ints

    def save(self, path: Path) -> None:
        """Writes it into a file, with checksums."""
        words = np.frombuffer("".join(f"{word}\n" for word in self.tokens.words).encode(), np.uint8)
        save_part(path, (words, *self.tokens.text.arrays, self.count_V, self.line_S, self.digest_S))

    @classmethod
    def load(cls, path: Path) -> PartSide:
        """Reads what `save` wrote; raises what `load_part` raises."""
        words, ids_T, offsets_S1, *columns = load_part(path, 6)
        tokens = TokenText(words.tobytes().decode().split("\n")[:-1], EncodedText(ids_T, offsets_S1))
        return cls(tokens, *columns)


@dataclass(frozen=True)
class Part:
    """A part of a text, and what it is made from.

    Attributes:
        work: the work directory.
        made_from: `of`, the identity of the corpus; `text`, `train`, `lm` or `base`; `first` and `last`, of its lines
            or sentences; and the settings of `parts_of`.
    """

    work: Path
    made_from: Json

    @property
    def lines(self) -> range:
        """The lines or sentences of the whole text."""
        return range(self.made_from["first"], self.made_from["last"])

    def name(self, step: str) -> str:
        """The stage that the step `tokens` or `cased` makes."""
        return f"{PARTS}/{step}/{self.made_from['text']}/{self.lines.start}"

    def file(self, step: str, name: str) -> Path:
        """A file that a step makes."""
        return self.work / self.name(step) / name

    def side(self, step: str, side: str) -> PartSide:
        """A side of it after a step."""
        return PartSide.load(self.file(step, f"{side}.npz"))

    def sentences(self, side: str) -> Iterator[list[str]]:
        """The tokens of a side as they are read."""
        settings, rows = self.made_from, self.lines
        if settings["text"] == "base":
            return iter(WorkDirectory(Path(settings["base"])).training_tokens(side).part(rows.start, rows.stop))
        lines: Sequence[str] = lines_of(self.work, f"{settings['text']}.{side}", rows, settings["size"])
        language = settings["sides"][side]
        if settings["untokenize"]:
            lines = untokenized_lines(lines, language)
        preprocessor = Preprocessor(language, tokenize=settings["tokenize"])
        return map(preprocessor.tokens, track(lines, f"tokenising {language}"))


def parts_of(
    work: Path, files: CorpusFiles, of: str, text: str, lines: int, size: int, base: Path | None = None
) -> list[Part]:
    """The parts of a text of so many lines, or of the sentences of a base.

    Args:
        of: the identity of the corpus.
        size: the lines of a part.
    """
    data = files.data
    settings = {
        "of": of,
        "text": text,
        "base": str(base),
        "sides": {side: files.languages[side] for side in (SIDES[1:] if text == "lm" else SIDES)}
        | dict.fromkeys(files.references if text == "train" else (), files.languages["target"]),
        "untokenize": {"lm": "lm_text"}.get(text, text) in data.tokenized,
        "tokenize": data.tokenize,
        "case": data.case,
        "split": word_splits(data),
        "max_words": data.max_words,
        "size": size,
    }
    return [Part(work, {**settings, "first": at.start, "last": at.stop}) for at in pieces(lines, size)]


def store_texts(files: CorpusFiles, folder: Path) -> Json:
    """Writes the lines of the training text and of further text for the language model into files of one part each.

    Returns:
        How many lines each file of the training text has, `train`; all of the further text together, `lm`; and a part,
        `size`.

    Raises:
        InputError: a file cannot be read, or sides of unequal length.
    """
    lengths: dict[str, list[int]] = {side: [] for side in SIDES}

    def training_lines(side: str) -> Iterator[str]:
        has_factors = bool(files.factor_names(side).names)
        for number, path in enumerate(files.held["train", side]):
            lengths[side].append(0)
            joined, beside = files.joined_factors(side), files.factor_paths("train", side, number)
            for line in read_factored(path, joined, beside).lines if has_factors else iterate_lines(path):
                lengths[side][-1] += 1
                yield line

    for side in SIDES:
        _store(folder, f"train.{side}", training_lines(side))
    paths = (files.held["train", side] for side in SIDES)
    for source, target, *counts in zip(*paths, *lengths.values(), strict=True):
        check_sides(source, counts[0], target, counts[1])
    for name in files.references:
        (path,) = files.held["train", name]
        check_length(path, _store(folder, f"train.{name}", iterate_lines(path)), sum(lengths["source"]))
    more = chain.from_iterable(map(iterate_lines, files.lm_text))
    return {"train": lengths["source"], "lm": _store(folder, "lm.target", more), "size": PART}


def _store(folder: Path, name: str, lines: Iterator[str]) -> int:
    count = 0
    while batch := list(islice(lines, PART)):
        write_lines(folder / f"{name}.{count}", batch)
        count += len(batch)
    return count


def lines_of(work: Path, name: str, rows: range, size: int) -> list[str]:
    """Some of the lines of a text, stored `size` to a file."""
    firsts = range(rows.start // size * size, rows.stop, size)
    texts = ((work / LINES / f"{name}.{first}").read_bytes().decode() for first in firsts)
    lines = chain.from_iterable(text.split("\n")[:-1] for text in texts)
    return list(islice(lines, rows.start - firsts.start, rows.stop - firsts.start))


def tokenise_part(work: Path, made_from: Json, folder: Path) -> Json:
    """Tokenises a part, leaves out unusable pairs, and counts how words are cased."""
    part = Part(work, made_from)
    tokens = {side: TokenText.of(part.sentences(side)) for side in made_from["sides"]}
    kept, dropped = list(range(len(part.lines))), dict[str, int]()
    if made_from["text"] == "train":
        kept, dropped = drop_unusable(*map(tokens.__getitem__, SIDES), max_words=made_from["max_words"])
    for side, every in tokens.items():
        text = TokenText.of(map(every.__getitem__, kept))
        counts = form_counts(text) if made_from["case"] == "true" else {}
        count_V = np.array([counts.get(word, 0) for word in text.words], np.int64)
        PartSide(text, count_V, np.array(kept, np.int64), digests(text)).save(folder / f"{side}.npz")
    return {"kept": len(kept), "dropped": dropped}


def case_part(work: Path, made_from: Json, folder: Path) -> Json:
    """Cases a tokenised part, splits its words, and counts its words."""
    part = Part(work, made_from)
    for side, language in made_from["sides"].items():
        learned, split = work / CASING, made_from["split"] if side == "source" else []
        cased_as = side if side in SIDES else "target"
        caser = Truecaser.load(learned / f"{TRUECASE}{cased_as}") if made_from["case"] == "true" else None
        splitter = WordSplitter.load(learned / PARTS_OF_WORDS, split) if split else None
        prepared = PreparedSide(Preprocessor(language), made_from["case"], caser, splitter)
        tokens = part.side("tokens", side).tokens
        cased = TokenText.of(map(prepared.cased, track(tokens, f"casing {language}")))
        count_V = np.bincount(cased.text.ids_T, minlength=len(cased.words))
        PartSide(cased, count_V, NO_INTS, NO_INTS).save(folder / f"{side}.npz")
        write_lines(folder / f"{side}.lines", map(" ".join, cased))
    return {"sentences": len(cased)}
