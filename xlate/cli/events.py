"""xlate events export|import: candidate stores as the text that Tillmann & Zhang (2007) show in Figure 3."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from xlate.cli.shell.arguments import action_of
from xlate.config.schema import EventsConfig

CONFIG = EventsConfig
POSITIONAL = ("action", "events")
# How many instances are in memory while a store is written as text.
INSTANCES_AT_A_TIME = 4096


def run(config: EventsConfig) -> None:
    """Does what `action` says and prints how much was written, as JSON."""
    print(json.dumps(action_of(ACTIONS, config.action)(config), indent=2, ensure_ascii=False))


def export(config: EventsConfig) -> dict[str, Any]:
    """Writes a candidate store as datapoint text.

    Raises:
        InputError: no store, or one whose candidates are not simply true or false.
    """
    from xlate.candidates.datapoints import write_datapoints
    from xlate.candidates.store import CandidateStore

    store = CandidateStore.open(config.events)
    starts = range(0, len(store), INSTANCES_AT_A_TIME)
    pieces = (store.batch(range(start, min(start + INSTANCES_AT_A_TIME, len(store)))) for start in starts)
    write_datapoints(config.out, pieces)
    return {"text": config.out, "datapoints": len(store), "candidates": store.arrays.candidates}


def import_text(config: EventsConfig) -> dict[str, Any]:
    """Writes datapoint text as a candidate store; its dense features are called `dense1` and so on.

    Raises:
        InputError: a line that is not of this form.
    """
    from xlate.candidates.datapoints import read_datapoints
    from xlate.candidates.store import StoreWriter

    batch = read_datapoints(config.events)
    names = [f"dense{number}" for number in range(1, batch.dense_CD.shape[1] + 1)]
    sparse = int(batch.part_ids_N.max()) + 1 if len(batch.part_ids_N) else 0
    with StoreWriter(config.out, names, sparse, metadata={"text": config.events}) as writer:
        writer.append(batch)
    return {"store": config.out, "datapoints": len(batch), "candidates": batch.candidates, "sparse": sparse}


ACTIONS: dict[str, Callable[[EventsConfig], dict[str, Any]]] = {"export": export, "import": import_text}
