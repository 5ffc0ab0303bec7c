"""How many n-gram queries per second does a batch answer, against a Python loop over KenLM?

Queries are like a decoder's: a state from a held-out text, and a word, either the one that follows there or one drawn
from the text. Ours is one `NgramModel.score_batch`; the peer is a loop over `kenlm.Model.BaseScore`, with words as
strings because its Python interface takes nothing else, or, if kenlm is not installed, a loop over our own single
queries. Same queries in the same order, one thread each, alternately; medians. The scores must be equal within 1e-4.

The model is Moses's 5-gram ARPA if the corpora are there (XLATE_DATA, or ../shared/data); otherwise, and with --quick,
it is a 5-gram model of generated text.

Run: python benchmarks/bench_lm.py [--quick]
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import numpy as np

from xlate.lm.arpa import read_arpa, write_arpa
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import LN10, NgramModel
from xlate.text.lines import read_lines
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import EncodedText, Vocabulary

try:
    import kenlm
except ImportError:
    kenlm = None

Query = tuple[int, int, str]

QUERIES, ROUNDS = 1_000_000, 9
QUICK = (200_000, 5)
GENERATED_WORDS, GENERATED_SENTENCES, LENGTH, ORDER = 5_000, 10_000, 12, 5


def generated_text(sentences: int, seed: int) -> list[list[str]]:
    """Sentences of words as uneven as real ones, each word drawn half the time from ten that follow its predecessor."""
    random = np.random.default_rng(seed)
    shares_V = 1 / np.arange(1, GENERATED_WORDS + 1)
    drawn_SL = random.choice(GENERATED_WORDS, size=(sentences, LENGTH), p=shares_V / shares_V.sum())
    follows_SL, pick_SL = random.random((sentences, LENGTH)) < 0.5, random.integers(10, size=(sentences, LENGTH))
    for place in range(1, LENGTH):
        successor_S = (drawn_SL[:, place - 1] * 31 + pick_SL[:, place] * 7) % GENERATED_WORDS
        drawn_SL[:, place] = np.where(follows_SL[:, place], successor_S, drawn_SL[:, place])
    return [[f"w{number}" for number in sentence] for sentence in drawn_SL.tolist()]


def moses_model(folder: Path) -> tuple[str, Path, list[list[str]]]:
    """What it is, the ARPA file, and the development text."""
    lines = read_lines(folder / "moses" / "corpus" / "val.tok.en.gz")
    return "Moses 5-gram ARPA", folder / "moses" / "model" / "lm.en.5gram.arpa.gz", [split_tokens(x) for x in lines]


def generated_model(folder: Path) -> tuple[str, Path, list[list[str]]]:
    """The same of generated text: a model of it, and other text of the same kind."""
    text = generated_text(GENERATED_SENTENCES, seed=1)
    vocabulary = Vocabulary.build(text)
    write_arpa(folder / "lm.arpa", estimate(EncodedText.encode(text, vocabulary), vocabulary, ORDER))
    return "generated 5-gram ARPA", folder / "lm.arpa", generated_text(1_000, seed=2)


def queries(sentences: list[list[str]], count: int, seed: int = 3) -> Iterator[Query]:
    """Sentence, number of words before, and the word asked for."""
    random = np.random.default_rng(seed)
    places = [(s, t) for s, sentence in enumerate(sentences) for t in range(len(sentence))]
    words = [word for sentence in sentences for word in sentence]
    at_Q, drawn_Q = random.integers(len(places), size=(2, count)).tolist()
    own_Q = (random.random(count) < 0.5).tolist()
    for at, drawn, own in zip(at_Q, drawn_Q, own_Q, strict=True):
        yield *places[at], words[at if own else drawn]


def batch_run(model: NgramModel, sentences: list[list[str]], asked: list[Query]) -> Callable[[], object]:
    """A run of ours over the queries; gives the log10 scores."""
    states = []
    for sentence in sentences:
        states.append([model.begin_state])
        for word in model.vocabulary.ids(sentence).tolist():
            states[-1].append(model.score(states[-1][-1], word)[1])
    states_Q = np.array([states[s][t] for s, t, _ in asked], np.int32)
    words_Q = model.vocabulary.ids([word for _, _, word in asked])
    return lambda: model.score_batch(states_Q, words_Q)[0] / LN10


def kenlm_run(path: Path, sentences: list[list[str]], asked: list[Query]) -> Callable[[], object]:
    """A run of KenLM over the queries; gives the log10 scores."""
    config = kenlm.Config()
    config.show_progress = False
    model = kenlm.Model(str(path), config)
    states = []
    for sentence in sentences:
        states.append([kenlm.State()])
        model.BeginSentenceWrite(states[-1][0])
        for word in sentence:
            states[-1].append(kenlm.State())
            model.BaseScore(states[-1][-2], word, states[-1][-1])
    pairs = [(states[s][t], word) for s, t, word in asked]
    score, after = model.BaseScore, kenlm.State()
    return lambda: [score(state, word, after) for state, word in pairs]


def single_run(model: NgramModel, sentences: list[list[str]], asked: list[Query]) -> Callable[[], object]:
    """A run of our own queries one by one; gives the log10 scores."""
    ids = [model.vocabulary.ids(sentence) for sentence in sentences]
    begun = {(s, t): model.score_words(model.begin_state, ids[s][:t])[1] for s, t, _ in asked}
    pairs = [(begun[s, t], model.vocabulary.id(word)) for s, t, word in asked]
    return lambda: [model.score(state, word)[0] / LN10 for state, word in pairs]


def rate(count: int, run: Callable[[], object]) -> float:
    """Queries a second of one run."""
    start = time.perf_counter()
    run()
    return count / (time.perf_counter() - start)


def measure(name: str, path: Path, sentences: list[list[str]], count: int, rounds: int) -> None:
    """Prints a table, and a JSON line last."""
    model = NgramModel.from_arpa(read_arpa(path))
    asked = list(queries(sentences, count))
    ours_run = batch_run(model, sentences, asked)
    peer_name = "single queries, loop" if kenlm is None else "KenLM BaseScore, loop"
    peer_run = single_run(model, sentences, asked) if kenlm is None else kenlm_run(path, sentences, asked)
    # Compiles as well.
    difference = float(np.abs(np.asarray(ours_run()) - np.asarray(peer_run())).max())
    if difference > 1e-4:
        sys.exit(f"the scores differ by {difference:.2e}")
    ours, peer = [], []
    for _ in range(rounds):
        ours.append(rate(count, ours_run))
        peer.append(rate(count, peer_run))
    version = "absent" if kenlm is None else importlib.metadata.version("kenlm")
    versions = f"numpy {np.__version__}, numba {numba.__version__}, kenlm {version}"
    print(f"python {platform.python_version()}, {versions}")
    print(
        f"{name}, {sum(len(sentence) for sentence in sentences):,} words of text; scores equal within {difference:.0e}"
    )
    print(f"{rounds} rounds of {count:,} queries; one thread")
    print(f"{'':24}{'median /s':>14}{'lowest':>14}{'highest':>14}")
    for title, rates in (("score_batch", ours), (peer_name, peer)):
        print(f"{title:24}{statistics.median(rates):14,.0f}{min(rates):14,.0f}{max(rates):14,.0f}")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    report = {
        "name": "lm",
        "ours": round(statistics.median(ours)),
        "peer": round(statistics.median(peer)),
        "unit": "queries/s",
        "ratio": round(statistics.median(ours) / statistics.median(peer), 2),
        "peak_mb": round(used),
    }
    print(json.dumps(report))


def main() -> None:
    """Chooses the model and measures."""
    quick = "--quick" in sys.argv
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    corpora = Path(os.environ.get("XLATE_DATA", beside))
    count, rounds = QUICK if quick else (QUERIES, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        real = (corpora / "moses").is_dir() and not quick
        name, path, sentences = moses_model(corpora) if real else generated_model(Path(folder))
        measure(name, path, sentences, count, rounds)


if __name__ == "__main__":
    main()
