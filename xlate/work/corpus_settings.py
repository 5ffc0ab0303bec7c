"""What the settings of a corpus mean: its factors, which settings go together, and what its stage depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from xlate.errors import InputError
from xlate.text.factors import FactorNames
from xlate.work.corpus_files import SIDES, SPLITS, CorpusFiles
from xlate.work.settings import DataConfig
from xlate.work.stages import file_hash
from xlate.work.tagging import tagger_record

CASES = ("true", "lower", "keep")
PARTS = (*SPLITS, "lm_text")
_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class SideFactors:
    """The factors of one side: those `joined` to the words of its files, and `all` of them in their order."""

    joined: FactorNames
    all: FactorNames


def side_factors(data: DataConfig, files: CorpusFiles, side: str) -> SideFactors:
    """Which factors a side has: first those that are joined to its words, then those with files of their own."""
    joined = data.source_factors if side == "source" else data.target_factors
    own = list(files.factors.get(("train", side), {}))
    separator = data.factor_separator
    return SideFactors(FactorNames(tuple(joined), separator), FactorNames((*joined, *own), separator))


def check_settings(data: DataConfig, files: CorpusFiles) -> None:
    """Looks whether the settings of a corpus can be met together.

    Raises:
        InputError: they cannot.
    """
    if data.case not in CASES:
        raise InputError("unknown casing", seen=data.case, expected=", ".join(CASES))
    unknown = [part for part in data.tokenized if part not in PARTS]
    if unknown:
        raise InputError("unknown part of a corpus", seen=f"data.tokenized={unknown}", expected=", ".join(PARTS))
    if data.dev_pairs and data.dev_source is not None:
        raise InputError(
            "pairs cannot be held out of the training text as a dev set",
            seen=f"data.dev_pairs={data.dev_pairs}, data.dev_source={data.dev_source}",
            expected="no dev set of its own",
            remedy="leave out one of the two settings",
        )
    for side in SIDES:
        _check_factors(data, files, side)


def check_dev_set(data: DataConfig) -> None:
    """Looks whether there is a dev set with references, which trainings learn or choose by.

    Raises:
        InputError: there is none, and none was said to be needed.
    """
    if data.dev_source is not None and not data.dev_references:
        raise InputError(
            "a dev set without references",
            file=data.dev_source,
            seen="data.dev_references is empty",
            expected="data.dev_references=[FILE,…]",
            remedy="without translations of this text, data.dev_pairs=1000 takes the last 1000 training pairs",
        )
    if data.dev_source is None and data.dev_pairs is None:
        raise InputError(
            "no dev set",
            seen="neither data.dev_source nor data.dev_pairs is set",
            expected="data.dev_source=FILE data.dev_references=[FILE], or data.dev_pairs=N",
            remedy="data.dev_pairs=1000 takes the last 1000 training pairs; data.dev_pairs=0 goes without, which few "
            "trainings can",
        )


def _check_factors(data: DataConfig, files: CorpusFiles, side: str) -> None:
    names = side_factors(data, files, side).all.names
    wrong = [name for name in names if not _FACTOR.fullmatch(name) or names.count(name) > 1]
    if wrong:
        raise InputError(f"not the name of a {side} factor", seen=wrong[0], expected="a short name, each once")
    _check_factor_files(files, side)
    if names and (data.tokenize or set(data.tokenized) & set(SPLITS)):
        raise InputError(
            "text with factors is not tokenised, for they belong to its tokens",
            seen=f"factors {', '.join(names)}, data.tokenize={data.tokenize}, data.tokenized={data.tokenized}",
            expected="data.tokenize=false, and no data.tokenized",
            remedy="tokenise first, then find the factors of the tokens; or let data.tagger find them in raw text",
        )
    separator = data.factor_separator
    if names and (not separator or any(c.isspace() for c in separator)):
        raise InputError("cannot stand between factors", seen=repr(separator), expected="a mark without blanks")


def _check_factor_files(files: CorpusFiles, side: str) -> None:
    """A factor of the training text is one of every source too; references may do without."""
    trained = files.factors.get(("train", side), {}).keys()
    for split in SPLITS[1:]:
        held = files.factors.get((split, side), {}).keys()
        wanted = trained if held or (side == "source" and files.texts(split, side)) else held
        if held != wanted:
            seen = ", ".join(f"{split}_{side}_{name}" for name in sorted(held)) or "none"
            expected = ", ".join(f"{split}_{side}_{name}" for name in sorted(wanted)) or "none, as of the training text"
            raise InputError("the factors of a text differ", seen=f"data.factor_files: {seen}", expected=expected)


def corpus_identity(data: DataConfig, files: CorpusFiles) -> dict[str, Any]:
    """All that the corpus stage depends on."""
    # Named only where they are given.
    later: dict[str, Any] = {
        "dev_pairs": data.dev_pairs or None,
        "tokenized": sorted(data.tokenized),
        "factors": {
            side: {
                "joined": list(factors.joined.names),
                "separator": factors.joined.separator,
                "files": {
                    f"{split}_{name}": [file_hash(path) for path in paths]
                    for split in SPLITS
                    for name, paths in files.factors.get((split, side), {}).items()
                },
            }
            for side in SIDES
            if (factors := side_factors(data, files, side)).all.names
        },
        "tagger": tagger_record(data, files),
        "documents": {split: [file_hash(path) for path in paths] for split, paths in files.documents.items()},
        "document_pattern": data.document_pattern if files.documents else None,
    }
    return {
        "files": [file_hash(path) for path in files.all()],
        "references": [len(files.dev_references), len(files.test_references)],
        "languages": [files.source_language, files.target_language],
        "tokenize": data.tokenize,
        "case": data.case,
        "max_words": data.max_words,
        "max_sentences": data.max_sentences,
        **{key: value for key, value in later.items() if value},
        "version": 2,
    }
