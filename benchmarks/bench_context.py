"""Predictions in context: milliseconds per sentence, and the ratio of decoding time with and without them.

`--run=RUN` names a finished phrase run with context=feature, whose dev sentences are translated; without it a small
built-in corpus is prepared, and a translation classifier, a distortion classifier and a phrase system are trained on
it. Both decoders have the same table, search and weights, except those of predictions, and take turns in one process.
Times are CPU seconds of predicting, of collecting the options of a sentence (which predicts), and in total. With
`--without=RUN` the decoder without predictions is that of another run, with its own tuned weights: search with weights
that lack a feature ends sooner. `--default` searches with xlate's settings instead of the run's.

    python benchmarks/bench_context.py [--quick] [--run=RUN] [--without=RUN] [--default]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import cast

import numpy as np

from xlate.cli.main import main as xlate
from xlate.config.stored import config_of_run
from xlate.models.context.predicted import PredictedPlaces, PredictedScores
from xlate.models.kind import open_system
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.search.settings import PhraseSearch
from xlate.work.directory import WorkDirectory

REPEATS = 5
SMALL = ["data.generated.train=2000", "data.generated.dev=150", "data.generated.test=20"]
CLASSIFIER = ["model=context", "model.words=[all,class10]", "model.bits=18", "loss.epochs=2"]


def small_run(folder: Path) -> Path:
    """A phrase run with both kinds of predictions on the built-in corpus.

    Raises:
        SystemExit: a command failed.
    """
    work = f"work={folder / 'work'}"
    use = ["context=feature", f"model.context.run={folder / 'words'}", f"model.context.distortion={folder / 'places'}"]
    commands = [
        ["prepare", work, *SMALL],
        ["train", work, f"run={folder / 'words'}", *CLASSIFIER],
        ["train", work, f"run={folder / 'places'}", *CLASSIFIER, "model.predicts=distortion"],
        ["train", work, f"run={folder / 'run'}", "model=phrase", *use, "loss.tune.rounds=1", "loss.tune.nbest=30"],
    ]
    for command in commands:
        if xlate(command) != 0:
            raise SystemExit(f"failed: {' '.join(command)}")
    return folder / "run"


def opened(run: Path, default: bool) -> PhraseDecoder:
    """The decoder of a run."""
    decoder = cast(PhraseDecoder, open_system(run, config_of_run(run))[0])
    known = PhraseSearch(algorithm="stack")
    changed = {name: getattr(known, name) for name in ("algorithm", "pop_limit", "options")}
    return decoder.with_search(**changed, stack=known.stack) if default else decoder


def without_predictions(decoder: PhraseDecoder) -> PhraseDecoder:
    """The same system under the same weights, but for those of predictions."""
    model = replace(decoder.model, in_sentence=None, placed=None)
    held = dict(zip(decoder.model.columns, decoder.weights_D.tolist(), strict=True))
    return decoder.changed(model=model, weights_D=np.array([held[name] for name in model.columns]))


def seconds(job: Callable[[list[str]], object], sentences: list[list[str]]) -> float:
    """CPU seconds of one turn over all sentences."""
    start = time.process_time()
    for words in sentences:
        job(words)
    return time.process_time() - start


def jobs(decoder: PhraseDecoder, plain: PhraseDecoder) -> dict[str, Callable[[list[str]], object]]:
    """What is measured."""
    found = dict[str, Callable[[list[str]], object]]()
    scores, places = decoder.model.in_sentence, decoder.model.placed
    if isinstance(scores, PredictedScores):
        found["predicting translations"] = scores.model.predict
    if isinstance(places, PredictedPlaces):
        found["predicting distances"] = places.model.span_scores
    found |= {"options without": plain.space, "options with": decoder.space}
    return found | {"decoding without": plain.translate, "decoding with": decoder.translate}


def main() -> None:
    """Prints the table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 sentences")
    parser.add_argument("--run", type=Path, help="a phrase run with context=feature")
    parser.add_argument("--without", type=Path, help="a phrase run without predictions")
    parser.add_argument("--default", action="store_true", help="default settings of the search")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = given.run or small_run(Path(folder))
        work = WorkDirectory(Path(config_of_run(run).work)).check()
        decoder = opened(run, given.default)
        plain = opened(given.without, given.default) if given.without else without_predictions(decoder)
        sentences = [work.source_tokens(line) for line in work.source_lines("dev")[: 20 if given.quick else 200]]
        sentences = [words for words in sentences if words]
        measured = jobs(decoder, plain)
        for job in measured.values():
            seconds(job, sentences[:3])
        turns = [{name: seconds(job, sentences) for name, job in measured.items()} for _ in range(REPEATS)]
    print(f"{len(sentences)} sentences, {np.mean([len(words) for words in sentences]):.1f} words, {REPEATS} turns")
    print(f"{'':26} {'ms median':>10} {'least':>8} {'most':>8}")
    for name in measured:
        each = [1000 * turn[name] / len(sentences) for turn in turns]
        print(f"{name:26} {median(each):10.2f} {min(each):8.2f} {max(each):8.2f}")
    ratio = median(turn["decoding with"] / turn["decoding without"] for turn in turns)
    predicting = [name for name in measured if name.startswith("predicting")]
    table_ms = 1000 * median(sum(turn[name] for name in predicting) for turn in turns) / len(sentences)
    result = {"name": "context", "ours": round(table_ms, 2), "peer": None, "unit": "ms/sentence, predictions"}
    print(json.dumps({**result, "ratio": round(ratio, 2)}))


if __name__ == "__main__":
    main()
