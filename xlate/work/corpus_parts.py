"""Parts of a text, tokenised and cased by tasks of `xlate prepare` or by forked processes.

The lines of all files are first written into one plain file per side, in which any line can be found. A part is some
consecutive lines, or sentences of a work directory that is the base. It is tokenised, and unusable pairs are left out;
once all parts are, casing is learned; then it is cased. All numbers in it are its own: of its words, its lines and its
sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import digests
from xlate.array_types import Ints
from xlate.progress import track
from xlate.text.factors import read_factored
from xlate.text.lines import (
    atomic_write,
    check_sides,
    drop_unusable,
    iterate_lines,
    store_lines,
    stored_lines,
    write_lines,
)
from xlate.text.tokens import Preprocessor, Truecaser, form_counts, untokenized_lines
from xlate.text.vocabulary import EncodedText, TokenText
from xlate.work.corpus_files import SIDES, CorpusFiles
from xlate.work.directory import PreparedSide, WorkDirectory
from xlate.work.stages import run_stage

PARTS = "corpus-parts"
LINES, CASING = f"{PARTS}/lines", f"{PARTS}/casing"
# A text has about so many parts if they are neither smaller nor larger than this.
USUAL, LEAST, MOST = 16, 1 << 10, 1 << 16


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
        with atomic_write(path) as stream:
            text = self.tokens.text.ids_T, self.tokens.text.offsets_S1
            np.savez(stream, words, *text, self.count_V, self.line_S, self.digest_S)

    @classmethod
    def load(cls, path: Path) -> PartSide:
        """Reads what `save` wrote."""
        with np.load(path, allow_pickle=False) as held:
            words, ids_T, offsets_S1, *columns = (held[name] for name in held.files)
        tokens = TokenText(words.tobytes().decode().split("\n")[:-1], EncodedText(ids_T, offsets_S1))
        return cls(tokens, *columns)


@dataclass(frozen=True)
class Part:
    """A part of a text, and what it is made from.

    Attributes:
        made_from: `of`, the identity of the corpus; `text`, `train` or `lm`; `base`, a work directory whose sentences
            these are; `first` and `size`, of its lines or sentences; and the settings of `parts_of`.
    """

    made_from: Mapping[str, Any]

    @property
    def lines(self) -> range:
        """The lines or sentences of the whole text."""
        return range(self.made_from["first"], self.made_from["first"] + self.made_from["size"])

    def name(self, step: str) -> str:
        """The stage that the step `tokens` or `cased` makes."""
        kind = self.made_from["text"] if self.made_from["base"] is None else "base"
        return f"{PARTS}/{step}/{kind}/{self.lines.start}"

    def side(self, work: Path, step: str, side: str) -> PartSide:
        """A side of it after a step."""
        return PartSide.load(work / self.name(step) / f"{side}.npz")

    def sentences(self, work: Path, side: str) -> Iterator[list[str]]:
        """The tokens of a side as they are read."""
        settings, rows = self.made_from, self.lines
        if settings["base"] is not None:
            tokens = WorkDirectory(Path(settings["base"])).training_tokens(side)
            return iter(tokens.part(rows.start, rows.stop))
        lines: Sequence[str] = stored_lines(work / LINES / f"{settings['text']}.{side}", rows.start, rows.stop)
        language = settings["sides"][side]
        if settings["untokenize"]:
            lines = untokenized_lines(lines, language)
        preprocessor = Preprocessor(language, tokenize=settings["tokenize"])
        return map(preprocessor.tokens, track(lines, f"tokenising {language}"))


def parts_of(files: CorpusFiles, of: str, text: str, lines: int, base: Path | None = None) -> list[Part]:
    """The parts of a text of so many lines, or of the sentences of a base.

    Args:
        of: the identity of the corpus.
    """
    data = files.data
    settings = {
        "of": of,
        "text": text,
        "base": None if base is None else str(base),
        "sides": {side: files.language(side) for side in (SIDES if text == "train" else SIDES[1:])},
        "untokenize": ("lm_text" if text == "lm" else text) in data.tokenized,
        "tokenize": data.tokenize,
        "case": data.case,
        "max_words": data.max_words,
    }
    size = max(LEAST, min(MOST, -(-lines // USUAL)))
    firsts = range(0, lines, size)
    return [Part({**settings, "first": first, "size": min(size, lines - first)}) for first in firsts]


def store_texts(files: CorpusFiles, folder: Path) -> dict[str, Any]:
    """Writes the lines of the training text and of further text for the language model into plain files.

    Returns:
        How many lines each file of the training text has, `train`, and all of the further text together, `lm`.

    Raises:
        InputError: a file cannot be read, or sides of unequal length.
    """
    lengths: dict[str, list[int]] = {side: [] for side in SIDES}

    def lines_of(side: str) -> Iterator[str]:
        for number in range(len(files.held["train", side])):
            lengths[side].append(0)
            for line in _training_lines(files, side, number):
                lengths[side][-1] += 1
                yield line

    for side in SIDES:
        store_lines(folder / f"train.{side}", lines_of(side))
    paths = (files.held["train", side] for side in SIDES)
    for source, target, *counts in zip(*paths, *lengths.values(), strict=True):
        check_sides(source, counts[0], target, counts[1])
    more = (line for path in files.lm_text for line in iterate_lines(path))
    return {"train": lengths["source"], "lm": store_lines(folder / "lm.target", more)}


def _training_lines(files: CorpusFiles, side: str, number: int) -> Iterable[str]:
    path = files.held["train", side][number]
    if files.factor_names(side).names:
        return read_factored(path, files.joined_factors(side), files.factor_paths("train", side, number)).lines
    return iterate_lines(path)


def tokenise_part(work: str, name: str, made_from: Mapping[str, Any]) -> None:
    """Tokenises a part, leaves out unusable pairs, and counts in which casing words come: a task."""
    part = Part(made_from)

    def build(folder: Path) -> dict[str, Any]:
        tokens = {side: TokenText.of(part.sentences(Path(work), side)) for side in made_from["sides"]}
        kept, dropped = list(range(len(part.lines))), dict[str, int]()
        if made_from["text"] == "train" and made_from["base"] is None:
            kept, dropped = drop_unusable(*tokens.values(), max_words=made_from["max_words"])
        for side, every in tokens.items():
            text = TokenText.of(map(every.__getitem__, kept))
            counts = form_counts(text) if made_from["case"] == "true" else {}
            count_V = np.array([counts.get(word, 0) for word in text.words], np.int64)
            PartSide(text, count_V, np.array(kept, np.int64), digests(text)).save(folder / f"{side}.npz")
        return {"kept": len(kept), "dropped": dropped}

    run_stage(Path(work), name, made_from, build)


def case_part(work: str, name: str, made_from: Mapping[str, Any]) -> None:
    """Cases a tokenised part and counts its words: a task."""
    part = Part(made_from)

    def build(folder: Path) -> dict[str, Any]:
        for side, language in made_from["sides"].items():
            casing = Path(work) / CASING / side
            caser = Truecaser.load(casing) if made_from["case"] == "true" else None
            prepared = PreparedSide(Preprocessor(language), made_from["case"], caser)
            tokens = part.side(Path(work), "tokens", side).tokens
            cased = TokenText.of(map(prepared.cased, track(tokens, f"casing {language}")))
            count_V, none = np.bincount(cased.text.ids_T, minlength=len(cased.words)), np.zeros(0, np.int64)
            PartSide(cased, count_V, none, none).save(folder / f"{side}.npz")
            write_lines(folder / f"{side}.lines", map(" ".join, cased))
        return {"sentences": len(cased)}

    run_stage(Path(work), name, made_from, build)
