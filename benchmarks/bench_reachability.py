"""How many references can the rules of a hierarchical run produce, from left to right and bottom-up?

Every second sentence of a test set, of at most MOST words, with each reference, under the rules of a finished run of
model=hierarchical that occur in both sides. Left to right is forced decoding with the readable beam, at several beam
sizes; bottom-up is exact synchronous parsing. The seconds of each are reported too.

Run: python benchmarks/bench_reachability.py [RUN] [--quick]   (--quick: one sentence in twenty; without RUN one is made
     from the built-in corpus)
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from rules_run import named_runs
from synchronous import bottom_up_grammar, count_derivations

from xlate.arrays.ragged import gathered, row_numbers
from xlate.config.stored import config_of_run
from xlate.models.hierarchical.decoder import HierarchicalDecoder
from xlate.models.hierarchical.model import HierarchicalModel
from xlate.models.kind import open_system
from xlate.phrases.table import GAP, RuleTable
from xlate.text.vocabulary import EncodedText

MOST = 25
BEAMS = (10, 100, 1000)


def rows_within(rows: EncodedText, words: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The rows whose words are all among some words."""
    known = np.zeros(int(rows.ids_T.max(initial=0)) + 1, np.bool_)
    known[words[words < len(known)]] = True
    unknown_N = np.bincount(row_numbers(rows.offsets_S1), ~known[rows.ids_T], minlength=len(rows))
    return np.asarray(unknown_N == 0)


def occurring(model: HierarchicalModel, source: list[str], target: list[str]) -> HierarchicalModel:
    """The model with the rules that occur in a sentence pair."""
    source_words = np.append(model.source_vocabulary.ids(source), GAP).astype(np.int32)
    sides_P = rows_within(model.table.source_sides, source_words)
    phrases_Q = rows_within(model.table.target_phrases, model.target_vocabulary.ids(target))
    kept_B = sides_P[model.table.source_B] & phrases_Q[model.table.target_B]
    return replace(model, table=selected(model.table, np.flatnonzero(kept_B)), sparse=None)


def selected(table: RuleTable, rows_N: NDArray[np.int64]) -> RuleTable:
    """Some rules of a table, in its order, with the source sides and phrases that they have."""
    sides, source_N = np.unique(table.source_B[rows_N], return_inverse=True)
    phrases, target_N = np.unique(table.target_B[rows_N], return_inverse=True)
    links, link_offsets_N1 = gathered(table.link_offsets_B1, rows_N)
    own = ("swapped_B", "count_B", "scores_B4", "insertion_B", "deletion_B")
    return replace(
        table,
        source_sides=table.source_sides.select(sides),
        target_phrases=table.target_phrases.select(phrases),
        source_B=source_N.astype(np.int32),
        target_B=target_N.astype(np.int32),
        link_offsets_B1=link_offsets_N1,
        link_source_K=table.link_source_K[links],
        link_target_K=table.link_target_K[links],
        **{name: getattr(table, name)[rows_N] for name in own},
    )


def main() -> None:
    """Prints a table, and a JSON line last."""
    run = named_runs()[0]
    system, work = open_system(run, config_of_run(run))
    assert isinstance(system, HierarchicalDecoder)
    assert work is not None
    every = 20 if "--quick" in sys.argv else 2
    sources = [work.source_tokens(line) for line in work.source_lines("test")]
    references = [[work.target_tokens(line) for line in stream] for stream in work.references("test")]
    pairs = [
        (sources[i], stream[i])
        for i in range(0, len(sources), every)
        for stream in references
        if 0 < len(sources[i]) <= MOST and stream[i]
    ]
    found, seconds = dict.fromkeys([*BEAMS, "bottom-up"], 0), dict.fromkeys([*BEAMS, "bottom-up"], 0.0)
    for source, target in pairs:
        model = occurring(system.model, source, target)
        start = time.process_time()
        grammar = bottom_up_grammar(model, system.search.max_span)
        found["bottom-up"] += count_derivations(grammar, source, target) > 0
        seconds["bottom-up"] += time.process_time() - start
        for beam in BEAMS:
            forced = system.changed(model=model, sparse_F=None).with_search(
                algorithm="stack", stack=beam, threshold=0.0
            )
            start = time.process_time()
            found[beam] += forced.force(source, target) is not None
            seconds[beam] += time.process_time() - start
    print(f"{len(pairs)} pairs of sentence and reference, of at most {MOST} source words")
    for name, count in found.items():
        print(f"{name!s:>10}: {count:5d} reached, {100 * count / len(pairs):5.1f} %, {seconds[name]:8.1f} s")
    ours, peer = found[BEAMS[-1]], found["bottom-up"]
    figures = {"name": "reachability", "ours": ours, "peer": peer, "unit": f"of {len(pairs)}"}
    print(json.dumps({**figures, "ratio": round(ours / max(peer, 1), 4)}))


if __name__ == "__main__":
    main()
