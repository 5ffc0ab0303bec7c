"""Grammars of other systems, whole, whatever form their rules have: as they stand, and imported; decoded bottom-up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xlate.config.identity import MODEL
from xlate.config.schema import TrainConfig
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.formats.grammars.cdec import read_cdec_system
from xlate.formats.grammars.grammar import normal_form
from xlate.formats.grammars.joshua import read_joshua_system
from xlate.formats.grammars.moses import read_moses_system
from xlate.formats.moses_ini import is_moses_ini
from xlate.models.grammar.store import load_grammar
from xlate.models.grammar.system import GrammarSystem
from xlate.models.kind import Kind
from xlate.scoring.weights import WeightsFile
from xlate.search.settings import CKY, GrammarSearch
from xlate.work.directory import WorkDirectory

KIND = "grammar"


def open_grammar(path: Path, given: Mapping[str, Any]) -> GrammarSystem:
    """The system of a configuration.

    Args:
        path: of a joshua.config, a cdec.ini, or the moses.ini of a hierarchical system, which may have another name.
        given: settings of the decoder by their keys.

    Raises:
        InputError: a file that is missing or cannot be used, a setting that does not fit, or a search other than `cky`.
    """
    settings = with_settings(GrammarSearch(), given, "decoder")
    if path.suffix == ".config":
        system = read_joshua_system(path)
    elif path.suffix == ".ini" and not is_moses_ini(path):
        system = read_cdec_system(path)
    else:
        system = read_moses_system(path)
    return _bottom_up(path, GrammarSystem.of_foreign(system, settings))


def _bottom_up(path: Path, system: GrammarSystem) -> GrammarSystem:
    if system.search.algorithm != CKY:
        share, faults = normal_form(system.grammar.scfg, system.grammar.copy_label)
        shown = "".join(f"\n              {one}" for one in faults)
        raise InputError(
            "a whole grammar is not decoded from left to right",
            file=path,
            seen=f"decoder.algorithm={system.search.algorithm}; {share}",
            expected=f"decoder.algorithm={CKY}, for rules of every form; not in target normal form:{shown}",
            remedy=f"leave decoder.algorithm out, or say {CKY}",
        )
    return system


class Grammar(Kind):
    """An imported grammar under the weights that it came with."""

    name = KIND
    impossible = (
        "an imported grammar keeps the weights that it came with",
        "rank its n-best lists: xlate train model=rerank nbest=FILE references=[FILE]",
    )

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,  # noqa: ARG002
    ) -> GrammarSystem:
        grammar, model = load_grammar(run / MODEL)
        held = weights.sets[KIND]
        named = dict(zip(held.dense_names, held.dense_D.tolist(), strict=True))
        system = _bottom_up(run, GrammarSystem(grammar, named, model, config.decoder))
        if system.feature_names != held.dense_names:
            seen, expected = (" ".join(names[:20]) for names in (held.dense_names, system.feature_names))
            raise InputError("not the weights of this grammar", file=run, seen=seen, expected=expected)
        return system
