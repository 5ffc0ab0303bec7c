"""Matching, orientation bigrams and candidate stores: bigrams per second, by corpus size, against plain Python.

Uses Moses's phrase pairs and Multi30k under XLATE_DATA (or ../shared/data); without them, and with --quick, a made-up
corpus. The peer does the same work for the first sentences with dictionaries and lists, and must get the same counts.
Rates are per CPU second, since machines are shared; wall seconds are shown next to them.

    python benchmarks/bench_events.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.candidates.block_instances import BlockInstances, write_stores
from xlate.features.block import FLOATS, BigramIndex, BlockNames
from xlate.formats.moses_table import read_phrase_table
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.models.block.model import BlockModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import collect_events, match_blocks
from xlate.phrases.table import PhraseTable, score_phrases
from xlate.text.lines import read_lines
from xlate.text.vocabulary import BEGIN_ID, EncodedText, Vocabulary

ORDER, THRESHOLD, SMOOTHING, TOP = 3, 2, 0.5, 9
STAGES = ("match", "events", "stores")


@dataclass(frozen=True)
class Corpus:
    """A phrase table and the text to match it against."""

    name: str
    table: PhraseTable
    source: EncodedText
    target: EncodedText
    target_vocabulary: Vocabulary


class Run(NamedTuple):
    """One pass over some sentences: CPU seconds by stage, wall seconds of all, and what was counted."""

    seconds: dict[str, float]
    wall: float
    matches: int
    events: int
    candidates: int

    @property
    def total(self) -> float:
        """The CPU seconds of all stages."""
        return sum(self.seconds.values())


def multi30k(data: Path) -> Corpus:
    """29,000 sentence pairs and the 791,331 phrase pairs that Moses extracted from them."""
    moses = read_phrase_table(data / "moses" / "model" / "phrase-table.gz")
    sides = [
        [
            [word for word in line.split(" ") if word]
            for line in read_lines(data / "moses" / "corpus" / f"train.tok.{side}.gz")
        ]
        for side in ("de", "en")
    ]
    source = EncodedText.encode(sides[0], moses.source_vocabulary)
    target = EncodedText.encode(sides[1], moses.target_vocabulary)
    return Corpus("Multi30k de-en, Moses's phrase pairs", moses.table, source, target, moses.target_vocabulary)


def made_up_text(sentences: int, words: int = 2000, seed: int = 1) -> tuple[EncodedText, EncodedText, Links]:
    """Word-for-word translations with two choices a word and neighbours swapped now and then, every link known."""
    random = np.random.default_rng(seed)
    sources, targets, links = [], [], []
    for _ in range(sentences):
        length = int(random.integers(5, 20))
        source = np.minimum(random.zipf(1.4, length), words).astype(np.int32) + 2
        place = np.arange(length)
        for j in np.flatnonzero(random.random(length - 1) < 0.1):
            place[[j, j + 1]] = place[[j + 1, j]]
        sources.append(source)
        targets.append((2 * source[place] - 3 + (random.random(length) < 0.2)).astype(np.int32))
        links.append([(int(i), j) for j, i in enumerate(place)])
    return EncodedText.from_ids(sources), EncodedText.from_ids(targets), Links.from_pairs(links)


def made_up(sentences: int, words: int = 2000) -> Corpus:
    """Made-up text with its phrase pairs."""
    text = made_up_text(sentences, words)
    table = score_phrases(extract_phrases(*text), lexical_table(*text))
    return Corpus("made up", table, *text[:2], Vocabulary(f"t{i}" for i in range(2 * words + 3)))


def first(text: EncodedText, sentences: int) -> EncodedText:
    """The first sentences of a text."""
    return EncodedText(text.ids_T[: text.offsets_S1[sentences]], text.offsets_S1[: sentences + 1])


class Pipeline:
    """The work to be timed; block counts and the language model are made once, from the whole corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.lm = NgramModel.from_arpa(estimate(corpus.target, corpus.target_vocabulary, ORDER))
        matches = match_blocks(corpus.table, corpus.source, corpus.target)
        self.blocks = BlockSet.count(corpus.table, matches, collect_events(matches))
        words = Vocabulary([]), corpus.target_vocabulary
        self.index = BigramIndex.frequent(BlockNames(self.blocks, *words), ["BB"], THRESHOLD)
        keys_F, none_D = self.index.keys_F, np.zeros(len(FLOATS))
        zeros_F = np.zeros(len(keys_F))
        model = BlockModel(
            self.blocks, self.lm, *words, none_D, none_D, SMOOTHING, feature_keys=keys_F, feature_weights=zeros_F
        )
        self.arrays = model.feature_arrays

    def run(self, sentences: int) -> Run:
        """Matches, collects and writes the stores of the first sentences."""
        source, target = first(self.corpus.source, sentences), first(self.corpus.target, sentences)
        wall, start = time.perf_counter(), time.process_time()
        matches = match_blocks(self.corpus.table, source, target)
        matched = time.process_time()
        events = collect_events(matches)
        collected = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            nothing_S = np.zeros(len(source), bool)
            instances = BlockInstances(
                self.arrays, len(self.index), self.lm, matches, events, target, nothing_S, alternatives=TOP
            )
            write_stores(Path(folder), [instances])
            written, wall = time.process_time(), time.perf_counter() - wall
            gains = [np.load(path, mmap_mode="r") for path in Path(folder).glob("*/gain_CG.npy")]
            candidates = sum(len(gain) for gain in gains)
        seconds = dict(zip(STAGES, (matched - start, collected - matched, written - collected), strict=True))
        return Run(seconds, wall, len(matches), len(events), candidates)


class PlainPython:
    """The peer: the same matches, bigrams and candidates with dictionaries and lists."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.p = pipeline
        table = pipeline.corpus.table
        sources, targets = (
            [tuple(phrases[i].tolist()) for i in range(len(phrases))]
            for phrases in (table.source_phrases, table.target_phrases)
        )
        self.targets_of: dict[tuple[int, ...], dict[tuple[int, ...], int]] = defaultdict(dict)
        for b, (s, t) in enumerate(zip(table.source_B.tolist(), table.target_B.tolist(), strict=True)):
            self.targets_of[sources[s]][targets[t]] = b
        self.target_words = [targets[t] for t in table.target_B.tolist()]
        self.longest = max(len(phrase) for phrase in (*sources, *targets))
        self.options = [option.tolist() for option in np.split(self.p.arrays.option_O, self.p.arrays.options_P1[1:-1])]
        self.bigrams = {key: i for i, key in enumerate(pipeline.index.keys_F.tolist())}

    def run(self, sentences: int) -> Run:
        """What `Pipeline.run` counts, for the first sentences."""
        corpus = self.p.corpus
        wall, start = time.perf_counter(), time.process_time()
        matches = events = 0
        kept: list[Any] = []
        for s in range(sentences):
            target = corpus.target[s].tolist()
            rows = self.matches(corpus.source[s].tolist(), target)
            bigrams = self.bigrams_of(rows)
            matches, events = matches + len(rows), events + sum(map(len, bigrams.values()))
            kept += self.instances(rows, bigrams, target)
        seconds = {"all": time.process_time() - start}
        return Run(seconds, time.perf_counter() - wall, matches, events, sum(map(len, kept)))

    def spans(self, words: list[int]) -> list[tuple[int, int, tuple[int, ...]]]:
        """All spans that are short enough for a phrase."""
        last = len(words) + 1
        return [(i, j, tuple(words[i:j])) for i in range(last) for j in range(i + 1, min(last, i + self.longest + 1))]

    def matches(self, source: list[int], target: list[int]) -> list[tuple[int, int, int, int, int]]:
        """The matching blocks of a sentence pair in the order of `Matches`."""
        places = defaultdict(list)
        for i, j, words in self.spans(target):
            places[words].append((i, j))
        rows = [
            (b, i, j, k, m)
            for i, j, words in self.spans(source)
            if words in self.targets_of
            for phrase, b in self.targets_of[words].items()
            for k, m in places.get(phrase, ())
        ]
        return sorted(rows, key=lambda row: (row[3], row[1], row[4], row[2]))

    def bigrams_of(self, rows: list[tuple[int, int, int, int, int]]) -> dict[int, list[tuple[int, int]]]:
        """Successors of each match, with orientation 1 right or 0 left."""
        starting = defaultdict(list)
        for n, row in enumerate(rows):
            starting[row[3]].append(n)
        found: dict[int, list[tuple[int, int]]] = {}
        for m, (_, i, j, _, end) in enumerate(rows):
            after = [(n, int(rows[n][1] == j)) for n in starting.get(end, ()) if rows[n][1] == j or rows[n][2] == i]
            if after:
                found[m] = after
        return found

    def instances(
        self, rows: list[Any], bigrams: dict[int, list[tuple[int, int]]], target: list[int]
    ) -> list[list[Any]]:
        """The candidates of every linked and neutral instance."""
        states = [self.p.lm.score_words(0, np.array([BEGIN_ID], np.int32))[1]]
        for word in target:
            states.append(self.p.lm.score(states[-1], word)[1])
        made = [
            self.candidates(rows[m][0], [(rows[n][0], o) for n, o in after], states[rows[m][4]])
            for m, after in bigrams.items()
        ]
        followed = {n for after in bigrams.values() for n, _ in after}
        made += [self.candidates(-1, [(row[0], 2)], states[row[3]]) for n, row in enumerate(rows) if n not in followed]
        return made

    def candidates(self, predecessor: int, positives: list[tuple[int, int]], state: int) -> list[Any]:
        """Positives and their source alternatives as (gain, floats, ids)."""
        chosen = dict.fromkeys(positives, 1)
        for b, orientation in positives:
            for other in self.options[self.p.arrays.source_B[b]][:TOP]:
                chosen.setdefault((other, orientation), -1)
        return [(gain, *self.features(predecessor, b, o, state)) for (b, o), gain in chosen.items()]

    def features(self, predecessor: int, b: int, orientation: int, state: int) -> tuple[list[float], list[int]]:
        """The five floats of a block and its bigram, when that is a feature."""
        arrays, costs = self.p.arrays, []
        for word in self.target_words[b]:
            logprob, state = self.p.lm.score(state, word)
            costs.append(-logprob)
        share = 0.0 if orientation == 2 else arrays.orientation_B2[b, orientation]
        floats = [arrays.unigram_B[b], share, costs[0], sum(costs[1:]), arrays.lexical_B[b]]
        feature = self.bigrams.get(predecessor << 32 | b, -1)
        return floats, [] if feature < 0 else [feature]


def timed(run: Callable[[int], Run], sentences: int, times: int) -> Run:
    """The run of median length."""
    runs = [run(sentences) for _ in range(times)]
    middle = statistics.median_low(r.total for r in runs)
    return next(r for r in runs if r.total == middle)


def data_folder() -> Path | None:
    """Where the real corpora are, if they are."""
    named = os.environ.get("XLATE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return folder if (folder / "moses" / "model" / "phrase-table.gz").exists() else None


def report(sizes: list[int], runs: list[Run]) -> None:
    """The table, and the exponent with which time grows with the number of bigrams."""
    print(
        f"{'sentences':>9} {'matches':>10} {'bigrams':>10} {'candidates':>11}",
        *(f"{s + ' s':>9}" for s in (*STAGES, "wall")),
        "bigrams/s",
    )
    for size, r in zip(sizes, runs, strict=True):
        seconds = (f"{r.seconds[stage]:9.2f}" for stage in STAGES)
        print(
            f"{size:9} {r.matches:10} {r.events:10} {r.candidates:11}",
            *seconds,
            f"{r.wall:9.2f}",
            f"{r.events / r.total:9.0f}",
        )
    grown = math.log(runs[-1].total / runs[0].total) / math.log(runs[-1].events / runs[0].events)
    print(f"CPU time grows with bigrams to the power of {grown:.2f}")


def main() -> None:
    """Prints the table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small made-up corpus, one run per size")
    quick = parser.parse_args().quick
    data = None if quick else data_folder()
    sizes = [1000, 2000, 4000] if quick else [5000, 10000, 20000, 29000]
    corpus = multi30k(data) if data else made_up(sizes[-1])
    pipeline = Pipeline(corpus)
    pipeline.run(100)
    print(f"{corpus.name}: {len(corpus.table)} blocks, {len(pipeline.index)} bigram features")
    times, sample = (1, 100) if quick else (3, 300)
    runs = [timed(pipeline.run, size, times) for size in sizes]
    report(sizes, runs)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    peer, same = timed(PlainPython(pipeline).run, sample, times), timed(pipeline.run, sample, times)
    if (peer.matches, peer.events, peer.candidates) != (same.matches, same.events, same.candidates):
        raise SystemExit(f"the peer counts differently: {peer}, ours {same}")
    ours, theirs = runs[-1].events / runs[-1].total, peer.events / peer.total
    print(
        f"plain Python, first {sample} sentences: {peer.events} bigrams, {peer.total:.2f} CPU s, {theirs:.0f} bigrams/s"
    )
    result = {"name": "events", "ours": round(ours), "peer": round(theirs), "unit": "bigrams/s"}
    print(json.dumps({**result, "ratio": round(ours / theirs, 1), "peak_mb": round(peak_mb)}))


if __name__ == "__main__":
    main()
