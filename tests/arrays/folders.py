"""A small folder of arrays of every kind, and how each is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.candidates.test_batch import example
from tests.formats.written_rules import scfg_of
from tests.models.phrase.small_phrase_models import random_phrase_model
from tests.phrases.small_corpora import small_rules
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.formats.scfg import NO_LIMIT, glue_grammar, joined
from xlate.lm.model import NgramModel
from xlate.models.grammar.kind import load_grammar, save_grammar
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.phrase.model import load_phrase_model, save_phrase_model
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.phrases.matching import Matches, collect_events, match_blocks
from xlate.phrases.table import PhraseTable, RuleTable
from xlate.text.vocabulary import EncodedText

OPENERS: dict[str, Callable[[Path], Any]] = {
    "table": PhraseTable.load,
    "rules": RuleTable.load,
    "lm": NgramModel.load,
    "model": load_phrase_model,
    "grammar": load_grammar,
    "blocks": BlockSet.load,
    "matches": Matches.load,
    "jumps": Distortion.load,
    "store": CandidateStore.open,
}


def small_grammar() -> SynchronousGrammar:
    """Rules with gaps in both orders, labels, a limit, and a feature that few rules have."""
    rules = "X → X1 a Y2 | Y2 u X1", "Y → b X1 | X1 v", "X → a | u w"
    scfg = replace(scfg_of(*rules, f0=[0, 2, 4], f1=[1, 3, 5]), sparse={1: {"own": 0.5}})
    return SynchronousGrammar(joined([(scfg, 5), (glue_grammar(), NO_LIMIT)]), "S")


def write_folders(root: Path) -> None:
    """Writes one folder of each kind, named as in `OPENERS`."""
    rng = np.random.default_rng(3)
    model = random_phrase_model(rng, "hier")
    table = model.table
    links = np.zeros(len(table), np.int16)
    linked = {"link_offsets_B1": np.arange(len(table) + 1), "link_source_K": links, "link_target_K": links}
    table = PhraseTable(**{**vars(table), **linked})
    table.save(root / "table")
    small_rules().save(root / "rules")
    model.lm.save(root / "lm")
    save_phrase_model(root / "model", model)
    save_grammar(root / "grammar", small_grammar(), model.lm)
    texts = [EncodedText.from_ids([rng.integers(3, 7, size=6).astype(np.int32) for _ in range(40)]) for _ in range(2)]
    matches = match_blocks(table, *texts)
    matches.save(root / "matches")
    BlockSet.count(table, matches, collect_events(matches)).save(root / "blocks")
    costs_VK = rng.random((7, 5)).astype(np.float32)
    Distortion(costs_VK, costs_VK + 1).save(root / "jumps")
    with StoreWriter(root / "store", ["a", "b"], 10) as writer:
        writer.append(example())
