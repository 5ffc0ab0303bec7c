"""The first stage of prepare: from raw text files to tokens, cases, vocabularies, factors and documents."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import copy_groups
from xlate.arrays.stored import save_arrays
from xlate.errors import InputError
from xlate.text.factors import FactoredLines
from xlate.text.json_files import write_json
from xlate.text.lines import drop_unusable, read_lines, write_lines
from xlate.text.tokens import Preprocessor, preprocess_lines, untokenized_lines
from xlate.text.truecase import Truecaser
from xlate.text.vocabulary import Vocabulary, check_reserved
from xlate.work.annotated_text import AnnotatedText, read_split, read_training, with_tags
from xlate.work.annotation_store import (
    copies_folder,
    documents_folder,
    factor_folder,
    save_copies,
    save_documents,
    save_factor,
)
from xlate.work.corpus_files import SIDES, CorpusFiles
from xlate.work.corpus_settings import check_settings, side_factors
from xlate.work.directory import VOCABULARIES
from xlate.work.prepared_side import PreparedSide
from xlate.work.settings import DataConfig
from xlate.work.side_by_side import side_by_side
from xlate.work.tagging import keep_tagger, tagger_record

log = logging.getLogger(__name__)


def build_corpus(data: DataConfig, files: CorpusFiles, folder: Path) -> dict[str, Any]:
    """Reads, checks, tokenises and cases every file of the corpus into a stage folder.

    Raises:
        InputError: sides of unequal length, files that cannot be read, reserved words, nothing left to train on.
    """
    check_settings(data, files)
    tagger = keep_tagger(data, files, folder)
    preprocessors = {
        "source": Preprocessor(files.source_language, tokenize=data.tokenize),
        "target": Preprocessor(files.target_language, tokenize=data.tokenize),
    }
    text, dev = _training_text(files, data)
    sides = (("source", text.source.lines), ("target", text.targets[0].lines))
    cut = [partial(preprocess_lines, lines, preprocessors[side]) for side, lines in sides]
    tokens = dict(zip(SIDES, side_by_side(cut), strict=True))
    kept, dropped = drop_unusable(tokens["source"], tokens["target"], max_words=data.max_words)
    total = len(text.source)
    _tell_dropped(dropped, total)
    if not len(kept):
        raise InputError(
            "an empty corpus",
            file=files.train_source[0],
            seen=f"{total} pairs, none usable",
            expected=f"pairs with words on both sides, at most {data.max_words} a side",
        )
    figures: dict[str, Any] = {"pairs": len(kept), "dropped": total - len(kept)}
    for side in SIDES:
        chosen = [tokens[side][i] for i in kept]
        caser = _caser(data.case, chosen, folder / f"truecase.{side}")
        prepared = PreparedSide(preprocessors[side], data.case, caser)
        cased = [prepared.cased(tokens) for tokens in chosen]
        check_reserved(cased, files.texts("train", side), kept)
        write_lines(folder / f"train.{side}.gz", (" ".join(t) for t in cased))
        vocabulary = Vocabulary.build(cased)
        vocabulary.save(folder / f"vocabulary.{side}")
        figures[f"{side}_words"] = sum(map(len, cased))
        figures[f"{side}_types"] = len(vocabulary)
        if side == "target" and files.lm_text:
            extra = [line for path in files.lm_text for line in _plain("lm_text", read_lines(path), side, files, data)]
            lm_tokens = [prepared.cased(tokens) for tokens in preprocess_lines(extra, preprocessors[side])]
            check_reserved(lm_tokens, files.lm_text)
            write_lines(folder / "lm.target.gz", map(" ".join, lm_tokens))
    group_S = copy_groups(*([tokens[side][i] for i in kept] for side in SIDES))
    save_copies(copies_folder(folder), group_S)
    figures["copies"] = len(group_S) - int((group_S == np.arange(len(group_S))).sum())
    text = text.rows(kept)
    if tagger is not None:
        text = with_tags(text, tagger, [tokens["source"][i] for i in kept])
    _save_annotations(folder, "train", text)
    splits = {
        split: _plain_text(split, read_split(split, files, data), files, data)
        for split in ("dev", "test")
        if files.texts(split, "source")
    }
    if dev is not None:
        splits["dev"] = dev
    if "dev" in splits and not splits["dev"].source.lines:
        raise InputError(
            "an empty dev set",
            file=next(iter(files.texts("dev", "source")), None),
            seen="no line",
            expected="sentences with their translations",
            remedy="data.dev_pairs=1000 takes the last 1000 training pairs",
        )
    for split, part in splits.items():
        if tagger is not None:
            part = with_tags(part, tagger, preprocess_lines(part.source.lines, preprocessors["source"]))
        figures[split] = _write_split(split, part, folder, files, data)
    write_json(folder / "preprocessing.json", _preprocessing(data, files))
    save_arrays(folder, VOCABULARIES, {}, files=[f"vocabulary.{side}" for side in SIDES])
    return figures


def _preprocessing(data: DataConfig, files: CorpusFiles) -> dict[str, Any]:
    """What lines of either side are read with."""
    settings: dict[str, Any] = {
        "source_language": files.source_language,
        "target_language": files.target_language,
        "tokenize": data.tokenize,
        "case": data.case,
    }
    names = {side: list(side_factors(data, files, side).all.names) for side in SIDES}
    if any(names.values()):
        settings["factors"] = {**names, "separator": data.factor_separator}
    if record := tagger_record(data, files):
        settings["tagger"] = record
    return settings


def _plain(part: str, lines: list[str], side: str, files: CorpusFiles, data: DataConfig) -> list[str]:
    if part not in data.tokenized:
        return lines
    return untokenized_lines(lines, files.source_language if side == "source" else files.target_language)


def _plain_text(part: str, text: AnnotatedText, files: CorpusFiles, data: DataConfig) -> AnnotatedText:
    def plain(lines: FactoredLines, side: str) -> FactoredLines:
        return replace(lines, lines=_plain(part, lines.lines, side, files, data))

    targets = [plain(target, "target") for target in text.targets]
    return AnnotatedText(plain(text.source, "source"), targets, text.documents)


def _training_text(files: CorpusFiles, data: DataConfig) -> tuple[AnnotatedText, AnnotatedText | None]:
    """The training text, and the dev set that was its end."""
    text = _plain_text("train", read_training(files, data), files, data)
    total = len(text.source)
    held = min(data.dev_pairs or 0, total)
    kept = total - held
    return text.rows(range(kept)[: data.max_sentences]), text.rows(range(kept, total)) if held else None


def _write_split(split: str, text: AnnotatedText, folder: Path, files: CorpusFiles, data: DataConfig) -> int:
    """Writes a source line by line as it is translated, with the factors it came with, and its references without."""
    names = side_factors(data, files, "source").all
    write_lines(folder / f"{split}.source.gz", text.source.factored(names))
    for number, reference in enumerate(text.targets):
        write_lines(folder / f"{split}.reference.{number}.gz", reference.lines)
    _save_annotations(folder, split, text)
    return len(text.source)


def _save_annotations(folder: Path, split: str, text: AnnotatedText) -> None:
    """Writes the factors and documents of a split; those of `train` come first."""
    for side, texts in (("source", [text.source]), ("target", text.targets)):
        for number, lines in enumerate(texts):
            for name, values in lines.factors.items():
                save_factor(factor_folder(folder, side, name), split, values, number)
    if text.documents is not None:
        save_documents(documents_folder(folder, split), text.documents)


def _caser(case: str, sentences: list[list[str]], path: Path) -> Truecaser | None:
    if case != "true":
        return None
    caser = Truecaser.train(sentences)
    caser.save(path)
    return caser


def _tell_dropped(dropped: dict[str, int], total: int) -> None:
    for reason, count in dropped.items():
        if count:
            log.warning("%d of %d training pairs left out: %s", count, total, reason)
