"""The model of a Moses system, from its configuration."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.formats.moses_ini import MODELS, FeatureLine, MosesIni, read_moses_ini
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.reordering_table import read_reordering_table
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.phrase.model import PHRASE_FEATURES, SIZE, SLOTS, UNKNOWN, PhraseModel, Reordering


def load_moses_model(path: str | Path, only: Container[str] | None = None) -> tuple[PhraseModel, Floats, MosesIni]:
    """The model and weights of a Moses system by the path of its moses.ini, and its configuration.

    Raises:
        InputError: the configuration cannot be used, or as `moses_model`.
    """
    ini = read_moses_ini(path)
    return *moses_model(ini, only), ini


def moses_model(ini: MosesIni, only: Container[str] | None = None) -> tuple[PhraseModel, Floats]:
    """The model of a Moses system, and its weights in the order of `PHRASE_FEATURES`, shape (15,).

    Words are taken as they stand in the tables: Moses's tokenizer has escaped bars in the text too.

    Args:
        ini: its configuration.
        only: the source phrases to read, None for all; see `moses_table.phrases_in`.

    Raises:
        InputError: a feature that this decoder has not, a missing or double one, or whatever reading the files raises.
    """
    lines = _lines_by_feature(ini)
    table, source, target = read_phrase_table(ini.file(lines["TranslationModel0"]), only)
    lm = NgramModel.from_arpa(read_arpa(ini.file(lines["LM0"])))
    reordering, line = None, lines.get("LexicalReordering0")
    if line is not None:
        kind = _reordering_kind(ini, line)
        reordering = Reordering(kind, read_reordering_table(ini.file(line), table, source, target))
    # What has no line weighs 0, but for the penalty of unknown words.
    weights_D = np.zeros(SIZE)
    weights_D[UNKNOWN] = 1.0
    for name, line in lines.items():
        weights_D[SLOTS[name]] = ini.weight(line.name, PHRASE_FEATURES[name])
    return PhraseModel(table, source, target, lm, reordering), weights_D


_KINDS = {
    "LexicalReordering0": ("LexicalReordering",),
    "Distortion0": ("Distortion",),
    "LM0": MODELS,
    "WordPenalty0": ("WordPenalty",),
    "PhrasePenalty0": ("PhrasePenalty",),
    "TranslationModel0": ("PhraseDictionaryMemory", "PhraseDictionaryCompact", "PhraseDictionaryOnDisk"),
    "UnknownWordPenalty0": ("UnknownWordPenalty",),
}


def _lines_by_feature(ini: MosesIni) -> dict[str, FeatureLine]:
    """The feature line of each of `PHRASE_FEATURES` that the configuration has."""
    ini.check_kinds(sorted(kind for kinds in _KINDS.values() for kind in kinds))
    found = {name: ini.find(*kinds) for name, kinds in _KINDS.items()}
    for name in ("TranslationModel0", "LM0"):
        if found[name] is None:
            raise InputError("a feature is missing", file=ini.path, expected=" or ".join(_KINDS[name]))
    return {name: line for name, line in found.items() if line is not None}


def _reordering_kind(ini: MosesIni, line: FeatureLine) -> str:
    text = line.arguments.get("type", "")
    kind, _, rest = text.partition("-")
    if kind not in ("wbe", "phrase", "hier") or rest.removesuffix("-allff") != "msd-bidirectional-fe":
        raise InputError(
            "a reordering model this decoder has not",
            file=ini.path,
            line=line.line,
            seen=text,
            expected="wbe-, phrase- or hier-msd-bidirectional-fe",
        )
    return "hier" if kind == "hier" else "wbe"
