"""How many source words per second does the phrase decoder translate, and how good are its model scores?

One process, 1-best, test_2016_flickr with a Moses system under XLATE_DATA (or ../shared/data): stack search and cube
pruning at several sizes, each next to Moses's own speed on a machine of the same kind (README of the data) and the mean
model score of Moses's 1-best at stack 200. Then the cost of a distinct 100-best list, of forked processes, of loading
the model, and of the entire command. CPU seconds, medians of three.

Run: python benchmarks/bench_phrase_decoder.py [--quick] [--curve]
     --quick: 100 sentences instead of 1,000; --curve: scores against time for both ways of pruning, and nothing else
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.formats.moses_ini import read_moses_ini
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.model import PhraseModel, load_phrase_model, save_phrase_model
from xlate.models.phrase.moses import moses_model
from xlate.text.lines import read_lines

ROUNDS = 3
# Search settings, and the words per second of Moses and of Moses 2 at them.
POINTS: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("stack 100", {"algorithm": "stack", "stack": 100}, "435-483", ""),
    ("stack 200", {"algorithm": "stack", "stack": 200}, "249", "516"),
    ("cube, pop 200, stack 100", {"algorithm": "cube", "pop_limit": 200, "stack": 100}, "3,110", "6,050"),
    ("cube, pop 1000, stack 200", {"algorithm": "cube", "pop_limit": 1000, "stack": 200}, "755", "1,845"),
)


def data_folder() -> Path:
    """Where the Moses system is."""
    named = os.environ.get("XLATE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (folder / "moses").exists():
        sys.exit("the Moses system is absent: set XLATE_DATA")
    return folder / "moses"


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a run, and what it gave."""
    start = time.process_time()
    given = run()
    return time.process_time() - start, given


def measure(decoder: PhraseDecoder, sentences: list[list[str]]) -> tuple[float, float]:
    """Words a CPU second, median, and the mean score of the best derivations."""
    decoder.translate(sentences[0])
    rates = []
    for _ in range(ROUNDS):
        spent, found = timed(lambda: [decoder.translate(words)[0].score for words in sentences])
        rates.append(sum(map(len, sentences)) / spent)
    return statistics.median(rates), sum(found) / len(found)


def main() -> None:
    """Prints tables, and a JSON line last."""
    moses = data_folder()
    sentences = [line.split() for line in read_lines(moses / "corpus" / "test_2016_flickr.tok.de.gz")]
    sentences = sentences[: 100 if "--quick" in sys.argv else None]
    if "--curve" not in sys.argv:
        # First, as a process that is begun here counts the memory of this one as its own.
        _whole_process(moses, sentences)
    model, weights_D = moses_model(read_moses_ini(moses / "moses.ini"))
    path = moses / "nbest" / "test_2016_flickr.100best.gz"
    best = {group[0].sentence: group[0].total or 0.0 for group in by_sentence(iterate_hypotheses(path), path)}
    theirs = sum(best[number] for number in range(len(sentences))) / len(sentences)
    print(f"{len(sentences)} sentences; mean model score of Moses at stack 200: {theirs:.4f}")
    if "--curve" in sys.argv:
        _curve(model, weights_D, sentences)
        return
    print(f"{'search':28}{'words/s':>10}{'score':>12}{'Moses':>12}{'Moses 2':>10}")
    rates = {}
    for title, settings, words, words2 in POINTS:
        rates[title], score = measure(PhraseDecoder(model, weights_D, PhraseSearch(**settings)), sentences)
        print(f"{title:28}{rates[title]:10,.0f}{score:12.4f}{words:>12}{words2:>10}")
    _lists(PhraseDecoder(model, weights_D, PhraseSearch(**POINTS[1][1])), sentences, rates["stack 200"])
    _processes(PhraseDecoder(model, weights_D, PhraseSearch(**POINTS[3][1])), sentences)
    with tempfile.TemporaryDirectory() as folder:
        save_phrase_model(folder, model)
        spent = statistics.median(timed(lambda: load_phrase_model(folder))[0] for _ in range(5))
        print(f"loading the model: {spent:.3f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    ours = rates["cube, pop 1000, stack 200"]
    figures = {"ours": round(ours), "peer": 755, "unit": "words/s", "ratio": round(ours / 755, 2)}
    print(json.dumps({"name": "phrase_decoder", **figures, "peak_mb": round(peak)}))


def _curve(model: PhraseModel, weights_D: NDArray[np.float64], sentences: list[list[str]]) -> None:
    """The mean score against the time of a sentence, one row a setting."""
    settings: list[tuple[str, dict[str, Any]]] = [
        (f"stack {size}", {"algorithm": "stack", "stack": size}) for size in (5, 10, 20, 50, 100, 200, 500, 1000)
    ]
    for pops in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        title = f"cube, pop {pops}, stack {max(pops // 2, 50)}"
        settings.append((title, {"algorithm": "cube", "pop_limit": pops, "stack": max(pops // 2, 50)}))
    print(f"{'search':28}{'ms per sentence':>14}{'words/s':>10}{'score':>12}")
    for title, chosen in settings:
        rate, score = measure(PhraseDecoder(model, weights_D, PhraseSearch(**chosen)), sentences)
        spent = 1000 * sum(map(len, sentences)) / rate / len(sentences)
        print(f"{title:28}{spent:14.2f}{rate:10,.0f}{score:12.4f}", flush=True)


def _lists(decoder: PhraseDecoder, sentences: list[list[str]], single: float) -> None:
    many = measure(decoder.with_search(nbest=100), sentences)[0]
    print(
        f"distinct 100-best lists at stack 200: {many:,.0f} words/s, {single / many:.2f} times the 1-best (Moses 1.69)"
    )


def _processes(decoder: PhraseDecoder, sentences: list[list[str]]) -> None:
    spent = {}
    for processes in (1, 2):
        start = time.perf_counter()
        list(decoder.translate_many(sentences, processes))
        spent[processes] = time.perf_counter() - start
    print(f"two processes at pop 1000: {spent[1] / spent[2]:.2f} times as fast as one (wall; Moses 1.89)")


def _whole_process(moses: Path, sentences: list[list[str]]) -> None:
    """Wall seconds and memory of the command, from its start to its end."""
    xlate = str(Path(sys.executable).with_name("xlate"))
    with tempfile.TemporaryDirectory() as folder:
        run, text = Path(folder) / "run", Path(folder) / "source"
        subprocess.run([xlate, "import", f"moses={moses / 'moses.ini'}", f"out={run}"], check=True, capture_output=True)
        command = [xlate, "translate", f"run={run}", "decoder.pop_limit=200", "decoder.stack=100"]
        for count in (1, len(sentences)):
            text.write_text("".join(" ".join(words) + "\n" for words in sentences[:count]), encoding="utf-8")
            seconds, peak = sorted(_timed_process(command, text) for _ in range(ROUNDS))[ROUNDS // 2]
            print(f"xlate translate, {count} lines at pop 200: {seconds:.2f} s, {peak / 1e3:.0f} MB at most")


def _timed_process(command: list[str], text: Path) -> tuple[float, int]:
    start = time.perf_counter()
    with text.open() as given:
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        usage = os.wait4(process.pid, 0)[2]
    return time.perf_counter() - start, usage.ru_maxrss


if __name__ == "__main__":
    main()
