"""The first stage of prepare: from raw text files to tokens, cases, vocabularies, factors and documents.

Independent parts run in parallel processes, at most one per core.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import copy_groups
from xlate.arrays.stored import save_arrays
from xlate.errors import InputError
from xlate.progress import track
from xlate.text.classes import POS, Tagger
from xlate.text.documents import Documents, joined_documents, read_documents
from xlate.text.factors import FactoredLines, joined_lines, read_factored
from xlate.text.folders import write_json
from xlate.text.lines import check_reference, check_sides, drop_unusable, read_lines, write_lines
from xlate.text.tokens import Preprocessor, Truecaser, untokenized_lines
from xlate.text.vocabulary import EncodedText, TokenText, Vocabulary, check_reserved
from xlate.work.corpus_files import SIDES, CorpusFiles, check_settings, keep_tagger, tagger_record
from xlate.work.directory import (
    PREPROCESSING,
    VOCABULARIES,
    PreparedSide,
    WorkDirectory,
    save_copies,
    save_documents,
    save_factor,
    save_text,
)
from xlate.work.stages import side_by_side


@dataclass(frozen=True)
class AnnotatedText:
    """A source, its translations (one for the training text, any number for others) and perhaps its documents."""

    source: FactoredLines
    targets: list[FactoredLines]
    documents: Documents | None

    def rows(self, rows: Iterable[int]) -> AnnotatedText:
        """A selection of the sentences, in the order given."""
        chosen = list(rows)
        documents = None if self.documents is None else self.documents.rows(chosen)
        return AnnotatedText(self.source.rows(chosen), [target.rows(chosen) for target in self.targets], documents)


def with_tags(text: AnnotatedText, tagger: Tagger, sentences: Sequence[Sequence[str]]) -> AnnotatedText:
    """A text with the tags of its source; `sentences` are the source's words as written."""
    tags = [tagger.tags(words) for words in track(sentences, "tagging")]
    return replace(text, source=replace(text.source, factors={POS: tags}))


def _read_side(split: str, side: str, number: int, files: CorpusFiles) -> FactoredLines:
    """One text of a split with its factors; raises what `read_factored` raises."""
    beside = {name: paths[number] for name, paths in files.factors.get((split, side), {}).items()}
    text = read_factored(files.held[split, side][number], files.joined_factors(side), beside)
    if split in files.data.tokenized:
        return replace(text, lines=untokenized_lines(text.lines, files.language(side)))
    return text


def _documents_of(split: str, lengths: list[int], files: CorpusFiles) -> Documents | None:
    """The documents of a split whose files have these numbers of lines; raises what `read_documents` raises."""
    if split not in files.documents:
        return None
    paths = zip(files.documents[split], lengths, strict=True)
    return joined_documents([read_documents(path, length, files.data.document_pattern) for path, length in paths])


def _read_split(split: str, files: CorpusFiles) -> AnnotatedText:
    source = _read_side(split, "source", 0, files)
    references = []
    for number, path in enumerate(files.held[split, "target"]):
        references.append(_read_side(split, "target", number, files))
        check_reference(path, len(references[-1]), len(source))
    return AnnotatedText(source, references, _documents_of(split, [len(source)], files))


log = logging.getLogger(__name__)


def preprocess_lines(lines: Sequence[str], preprocessor: Preprocessor) -> TokenText:
    """The tokens of every line; shows a progress bar."""
    return TokenText.of(preprocessor.tokens(line) for line in track(lines, f"tokenising {preprocessor.language}"))


def build_corpus(files: CorpusFiles, folder: Path, base: WorkDirectory | None = None) -> dict[str, Any]:
    """Reads, checks, tokenises and cases every file of the corpus, and writes it to a stage folder.

    With `base`, the training text is that of another work directory and then this one.

    Raises:
        InputError: sides of unequal length, files that cannot be read, reserved words, nothing left to train on; `base`
            was prepared in another way.
    """
    data = files.data
    check_settings(files)
    if base is not None:
        _check_alike(files, base)
    tagger = keep_tagger(files, folder)
    preprocessors = {side: Preprocessor(files.language(side), tokenize=data.tokenize) for side in SIDES}
    text, dev = _training_text(files)
    sides = (("source", text.source.lines), ("target", text.targets[0].lines))
    cut = [partial(preprocess_lines, lines, preprocessors[side]) for side, lines in sides]
    tokens: dict[str, TokenText] = dict(zip(SIDES, side_by_side(cut), strict=True))
    kept, dropped = drop_unusable(tokens["source"], tokens["target"], max_words=data.max_words)
    total = len(text.source)
    for reason, count in dropped.items():
        if count:
            log.warning("%d of %d training pairs left out: %s", count, total, reason)
    if not len(kept):
        raise InputError(
            "an empty corpus",
            f"{total} pairs, none usable",
            f"pairs with words on both sides, at most {data.max_words} words per side",
            file=files.held["train", "source"][0],
        )
    for side in SIDES:
        before = base.training_tokens(side) if base else ()
        tokens[side] = TokenText.of(chain(before, map(tokens[side].__getitem__, kept)))
    figures: dict[str, Any] = {"pairs": len(tokens["source"]), "dropped": total - len(kept)}
    for side in SIDES:
        figures |= _write_side(folder, side, tokens[side], kept, preprocessors[side], files)
    group_S = copy_groups(*tokens.values())
    save_copies(folder / "copies", group_S)
    figures["copies"] = len(group_S) - int((group_S == np.arange(len(group_S))).sum())
    text = text.rows(kept)
    if tagger is not None:
        text = with_tags(text, tagger, tokens["source"])
    _save_annotations(folder, "train", text)
    for split, part in _splits(files, dev).items():
        if tagger is not None:
            part = with_tags(part, tagger, preprocess_lines(part.source.lines, preprocessors["source"]))
        figures[split] = _write_split(split, part, folder, files)
    write_json(folder / "preprocessing.json", _preprocessing(files))
    save_arrays(folder, VOCABULARIES, {}, files=[f"vocabulary.{side}" for side in SIDES])
    return figures


def _write_side(
    folder: Path, side: str, tokens: TokenText, kept: list[int], preprocessor: Preprocessor, files: CorpusFiles
) -> dict[str, int]:
    """Cases and writes a side of the training text and its vocabulary; returns the figures of the side.

    The last sentences are the lines `kept` of the files.
    """
    caser = Truecaser.train(tokens) if files.data.case == "true" else None
    if caser is not None:
        caser.save(folder / f"truecase.{side}")
    prepared = PreparedSide(preprocessor, files.data.case, caser)
    cased = TokenText.of(map(prepared.cased, tokens))
    check_reserved(islice(cased, len(cased) - len(kept), None), files.held["train", side], kept)
    write_lines(folder / f"train.{side}.gz", map(" ".join, cased))
    vocabulary = Vocabulary.build(cased)
    vocabulary.save(folder / f"vocabulary.{side}")
    save_text(folder / f"train.{side}", EncodedText.encode(cased, vocabulary))
    if side == "target" and files.lm_text:
        extra = [line for path in files.lm_text for line in read_lines(path)]
        if "lm_text" in files.data.tokenized:
            extra = untokenized_lines(extra, files.language(side))
        lm_tokens = TokenText.of(map(prepared.cased, preprocess_lines(extra, preprocessor)))
        check_reserved(lm_tokens, files.lm_text)
        write_lines(folder / "lm.target.gz", map(" ".join, lm_tokens))
    return {f"{side}_words": sum(map(len, cased)), f"{side}_types": len(vocabulary)}


def _splits(files: CorpusFiles, dev: AnnotatedText | None) -> dict[str, AnnotatedText]:
    """The dev and test sets that exist; `dev` is one cut off the training text."""
    splits = {split: _read_split(split, files) for split in ("dev", "test") if files.held[split, "source"]}
    if dev is not None:
        splits["dev"] = dev
    if "dev" in splits and not splits["dev"].source.lines:
        raise InputError(
            "an empty dev set",
            "no line",
            "sentences with their translations",
            "data.dev_pairs=1000 takes the last 1000 training pairs",
            file=next(iter(files.held["dev", "source"]), None),
        )
    return splits


def _preprocessing(files: CorpusFiles) -> dict[str, Any]:
    """The settings for reading lines of either side."""
    data = files.data
    settings: dict[str, Any] = {
        "source_language": files.source_language,
        "target_language": files.target_language,
        "tokenize": data.tokenize,
        "case": data.case,
    }
    names = {side: list(files.factor_names(side).names) for side in SIDES}
    if any(names.values()):
        settings["factors"] = {**names, "separator": data.factor_separator}
    if record := tagger_record(files):
        settings["tagger"] = record
    return settings


def _check_alike(files: CorpusFiles, base: WorkDirectory) -> None:
    """Checks that a text can be added to that of another work directory."""
    here = _preprocessing(files)
    if here != base.preprocessing or here.keys() > PREPROCESSING.keys() or files.documents:
        raise InputError(
            "texts that cannot be mixed",
            f"{here}{', documents' * bool(files.documents)}, and {base.path} with {base.preprocessing}",
            "the same languages, tokenisation and case, without factors, a tagger or documents",
        )


def _training_text(files: CorpusFiles) -> tuple[AnnotatedText, AnnotatedText | None]:
    """The training text, and the dev set cut off its end."""
    sides: list[list[FactoredLines]] = [[], []]
    for number, path in enumerate(files.held["train", "source"]):
        source, target = (_read_side("train", side, number, files) for side in SIDES)
        check_sides(path, len(source), files.held["train", "target"][number], len(target))
        sides[0].append(source)
        sides[1].append(target)
    documents = _documents_of("train", [len(lines) for lines in sides[0]], files)
    text = AnnotatedText(joined_lines(sides[0]), [joined_lines(sides[1])], documents)
    total = len(text.source)
    held = min(files.data.dev_pairs or 0, total)
    kept = total - held
    return text.rows(range(kept)[: files.data.max_sentences]), text.rows(range(kept, total)) if held else None


def _write_split(split: str, text: AnnotatedText, folder: Path, files: CorpusFiles) -> int:
    """Writes a source as it will be translated, with the factors it came with, and its references without factors."""
    write_lines(folder / f"{split}.source.gz", text.source.factored(files.factor_names("source")))
    for number, reference in enumerate(text.targets):
        write_lines(folder / f"{split}.reference.{number}.gz", reference.lines)
    _save_annotations(folder, split, text)
    return len(text.source)


def _save_annotations(folder: Path, split: str, text: AnnotatedText) -> None:
    """Writes the factors and documents of a split; call it for `train` first."""
    for side, texts in (("source", [text.source]), ("target", text.targets)):
        for number, lines in enumerate(texts):
            for name, values in lines.factors.items():
                save_factor(folder / "factors" / f"{side}.{name}", split, values, number)
    if text.documents is not None:
        save_documents(folder / "documents" / split, text.documents)
