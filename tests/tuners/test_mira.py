"""k-best MIRA: the kernel against a naive twin, and what it must find."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.linear import CompiledScorer
from xlate.scoring.weights import Weights
from xlate.tuners.mira import checked_lists, mira
from xlate.tuners.settings import MiraConfig

FLOATS, SPARSE = 3, 5
ALL = np.ones(FLOATS, np.bool_)


def random_lists(seed: int, instances: int = 6, most: int = 5) -> CandidateBatch:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, most + 1, instances)
    sizes[0] = max(sizes[0], 1)
    total = int(sizes.sum())
    length = random.integers(4, 9, total)
    totals = np.stack([length - n for n in range(4)], 1)
    correct = np.minimum.accumulate(random.integers(0, totals + 1), axis=1)
    gain = np.concatenate([length[:, None], random.integers(4, 9, (total, 1)), correct, totals], 1)
    bags = [random.choice(SPARSE, random.integers(0, 4)) for _ in range(total)]
    return CandidateBatch(
        offsets_of(sizes),
        random.normal(size=(total, FLOATS)).astype(np.float32),
        gain.astype(np.float32),
        offsets_of([len(bag) for bag in bags]),
        np.array([n for bag in bags for n in bag], np.int32),
        part_values_N=random.normal(size=sum(map(len, bags))).astype(np.float32),
    )


def start() -> Weights:
    return Weights(np.array([0.1, -0.2, 0.0]), np.zeros(SPARSE), ("a", "b", "c"))


def best_statistics(lists: CandidateBatch, weights: Weights) -> np.ndarray:
    """The summed statistics of each list's best hypothesis, (K,); the first of equals counts."""
    given = lists.dense_CD.astype(np.float64), weights.dense_D, weights.sparse_F
    score_C = CompiledScorer(checked_lists(lists, weights), *given)().detach().numpy()
    ends = pairwise(lists.candidate_offsets_I1.tolist())
    best = [first + int(score_C[first:last].argmax()) for first, last in ends if first < last]
    sums_K: np.ndarray = lists.gain_CG[best].sum(axis=0, dtype=np.float64)
    return sums_K


def sums_of(lists: CandidateBatch, both: np.ndarray) -> np.ndarray:
    """The summed statistics of what scores highest under dense and sparse weights, one row."""
    weights = Weights(both[:FLOATS], both[FLOATS:], start().dense_names)
    return best_statistics(lists, weights)[None]


def telling_lists(scale: float = 1.0) -> tuple[CandidateBatch, float]:
    """Lists whose second float, of another scale, says how good a hypothesis is; the BLEU of the best ones."""
    random = np.random.default_rng(3)
    quality = random.integers(1, 10, (40, 8))
    dense = random.normal(size=(40, 8, 3)).astype(np.float32)
    dense[..., 1] = scale * (dense[..., 1] + quality)
    tens = np.full((40, 8, 1), 10)
    gain = np.concatenate([tens, tens, *[quality[..., None]] * 4, *[tens] * 4], -1)
    best = float(bleu_scores(gain.max(axis=1).sum(axis=0)[None])[0])
    nothing, offsets = np.zeros(0, np.int32), np.zeros(321, np.int64)
    flat = dense.reshape(320, 3), gain.reshape(320, 10).astype(np.float32)
    return CandidateBatch(np.arange(41) * 8, *flat, offsets, nothing), best


def bleu_of(lists: CandidateBatch, weights: Weights) -> float:
    """BLEU of the hypotheses that score highest."""
    sums = best_statistics(lists, weights)
    return float(bleu_scores(sums[None], smooth="none")[0])


def in_parts(lists: CandidateBatch, seed: int) -> CandidateBatch:
    """Lists whose hypotheses hold up to four parts, some twice, some of them shared."""
    random = np.random.default_rng(seed)
    sizes, parts = np.diff(lists.candidate_offsets_I1), 4
    held = [random.integers(0, parts, random.integers(0, 5)) for _ in range(lists.candidates)]
    bags = [random.choice(SPARSE, random.integers(0, 3)) for _ in range(parts * len(sizes))]
    return replace(
        lists,
        part_id_offsets_P1=offsets_of([len(bag) for bag in bags]),
        part_ids_N=np.array([n for bag in bags for n in bag], np.int32),
        part_values_N=random.normal(size=sum(map(len, bags))).astype(np.float32) if seed % 2 else None,
        part_offsets_I1=offsets_of(np.full(len(sizes), parts)),
        candidate_part_offsets_C1=offsets_of([len(some) for some in held]),
        candidate_parts_K=np.concatenate([np.zeros(0), *held]).astype(np.int32),
    ).validate()


def features_of(lists: CandidateBatch) -> np.ndarray:
    """Dense and sparse features as one matrix, (C, D + F)."""
    matrix = np.zeros((lists.candidates, FLOATS + SPARSE))
    matrix[:, :FLOATS] = lists.dense_CD
    ids_N, offsets_C1, values_N = lists.flat_ids()
    for c in range(lists.candidates):
        for n in range(offsets_C1[c], offsets_C1[c + 1]):
            matrix[c, FLOATS + ids_N[n]] += 1.0 if values_N is None else float(values_N[n])
    return matrix


def gain_of(statistics: np.ndarray, background: np.ndarray) -> float:
    s = statistics + background
    logs = [math.log(c / t) if c > 0 else -math.inf for c, t in zip(s[2:6], s[6:10], strict=True)]
    return math.exp(min(0.0, 1 - s[1] / s[0]) + sum(logs) / 4) * s[1]


def naive_mira(
    lists: CandidateBatch, options: MiraConfig, seed: int, share: float, trained: np.ndarray
) -> list[np.ndarray]:
    """The averages after each epoch, every history kept and summed; `share` is BLEU's, the rest that of a column."""
    random = np.random.default_rng(seed)
    matrix, first = features_of(lists), start()
    w = np.concatenate([first.dense_D, first.sparse_F])
    rate = np.ones(FLOATS + SPARSE)
    rate[:FLOATS], rate[FLOATS:] = trained, options.sparse_rate
    background, history, averages = np.ones(10), [], []
    for _ in range(options.epochs):
        for i in random.permutation(len(lists)):
            rows = list(range(*lists.candidate_offsets_I1[i : i + 2]))
            if not rows:
                continue
            scores = matrix[rows] @ w
            statistics = lists.gain_CG[rows].astype(float)
            gains = share * np.array([gain_of(row[:10], background) for row in statistics])
            if share < 1.0:
                gains += (1.0 - share) * statistics[:, 10] * statistics[:, 1]
            hope, fear = int(np.argmax(scores + gains)), int(np.argmax(scores - gains))
            delta = matrix[rows[hope]] - matrix[rows[fear]]
            loss = (gains[hope] - gains[fear]) - (scores[hope] - scores[fear])
            norm = float((rate * delta) @ delta)
            if loss > 0 and norm > 0:
                w = w + min(options.C, loss / norm) * rate * delta
            history.append(w)
            background = options.decay * (background + statistics[hope, :10])
        averages.append(np.mean(history, axis=0))
    return averages


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([1.0, 0.3]), st.booleans(), st.sampled_from([0.01, 5.0]), st.booleans(),
    st.sampled_from([1.0, 0.4, 0.0]),
)  # fmt: skip
def test_kernel_is_the_naive_twin(
    seed: int, sparse_rate: float, masked: bool, most: float, parts: bool, share: float
) -> None:
    """Other measures, here a column of numbers, gain in words of their sentence as BLEU does."""
    trained = np.array([True, False, True]) if masked else ALL
    lists = in_parts(random_lists(seed), seed) if parts else random_lists(seed)
    objective = Objective.of("bleu")
    if share < 1.0:
        values = np.random.default_rng(seed).random((lists.candidates, 1))
        lists = replace(
            lists, gain_CG=np.concatenate([lists.gain_CG, values, np.ones_like(values)], axis=1).astype(np.float32)
        )
        objective, most = Objective.of(f"bleu:{share},column:{1.0 - share}" if share else "column", column=True), 0.05
    options = MiraConfig(epochs=3, C=most, sparse_rate=sparse_rate, length_band=9.0)
    averages = naive_mira(lists, options, seed, share, trained)
    found = mira(lists, start(), options, seed, objective, trained)
    expected = max(averages, key=lambda average: objective.corpus(sums_of(lists, average))[0])
    assert np.allclose(np.concatenate([found.dense_D, found.sparse_F]), expected, atol=1e-9 if share == 1.0 else 1e-6)


def test_lengths_off_the_band_are_not_returned() -> None:
    lists = random_lists(5, instances=12)

    def found(band: float) -> tuple[float, bytes]:
        weights = mira(lists, start(), MiraConfig(epochs=8, C=1.0, length_band=band), 1, BLEU, ALL)
        sums = best_statistics(lists, weights)
        return abs(sums[0] / sums[1] - 1), weights.dense_D.tobytes()

    off, every = found(9.0)
    less_off, strict = found(off - 1e-6)
    assert less_off < off
    assert strict != every


def test_what_cannot_be_tuned_is_refused() -> None:
    lists = random_lists(1)
    with pytest.raises(InputError, match="do not fit"):
        mira(lists, Weights(np.zeros(2), np.zeros(SPARSE), ("a", "b")), MiraConfig(), 1, BLEU, ALL)
    with pytest.raises(InputError, match="not finite"):
        mira(lists, Weights(np.array([np.nan, 0, 0]), np.zeros(SPARSE), ("a", "b", "c")), MiraConfig(), 1, BLEU, ALL)
