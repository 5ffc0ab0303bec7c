"""A small folder of arrays of every kind, and how each is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.candidates.test_batch import example
from tests.models.phrase.small_phrase_models import random_phrase_model
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.lm.model import NgramModel
from xlate.models.phrase.store import load_phrase_model, save_phrase_model
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.phrases.events import collect_events
from xlate.phrases.matching import Matches, match_blocks
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText

OPENERS: dict[str, Callable[[Path], Any]] = {
    "table": PhraseTable.load,
    "lm": NgramModel.load,
    "model": load_phrase_model,
    "blocks": BlockSet.load,
    "matches": Matches.load,
    "jumps": Distortion.load,
    "store": CandidateStore.open,
}


def write_folders(root: Path) -> None:
    """Writes one folder of each kind, named as in `OPENERS`."""
    rng = np.random.default_rng(3)
    model = random_phrase_model(rng, "hier")
    table = model.table
    links = np.zeros(len(table), dtype=np.int16)
    linked = {"link_offsets_B1": np.arange(len(table) + 1), "link_source_K": links, "link_target_K": links}
    table = PhraseTable(**{**vars(table), **linked})
    table.save(root / "table")
    model.lm.save(root / "lm")
    save_phrase_model(root / "model", model)
    texts = [EncodedText.from_ids([rng.integers(3, 7, size=6).astype(np.int32) for _ in range(40)]) for _ in range(2)]
    matches = match_blocks(table, *texts)
    matches.save(root / "matches")
    BlockSet.count(table, matches, collect_events(matches)).save(root / "blocks")
    costs_VK = rng.random((7, 5)).astype(np.float32)
    Distortion(costs_VK, costs_VK + 1).save(root / "jumps")
    with StoreWriter(root / "store", ["a", "b"], 10) as writer:
        writer.append(example())
