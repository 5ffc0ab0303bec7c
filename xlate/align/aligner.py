"""Word alignment of a parallel corpus in both directions, and one alignment out of the two (Och and Ney 2003; Koehn et
al. 2005).

Growing starts from the intersection. Until nothing changes, the links of the union are visited repeatedly in the order
(source, target); one is added at once when it has a neighbour among the kept links and its source word or its target
word has no link yet. Neighbours are the four adjacent links; with `-diag`, the four diagonal ones too. Then `-final`
adds the links of the forward and then those of the backward alignment whose source word or target word has no link
yet; `-final-and` adds only those where neither has one. This order is fast_align's (atools); Moses's symal starts from
the kept links and can choose differently among rival links.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.align.direction import LONGEST, METHODS, AlignmentProcess, Direction, usable_pairs
from xlate.align.links import REMEDY, Lengths, Links, check_positions, matched_lengths
from xlate.arrays.ragged import offsets_of
from xlate.arrays.stored import HEADER, open_arrays, save_arrays
from xlate.errors import InputError, check_choice
from xlate.kernels.counting.alignment import BACKWARD, BOTH, FINAL_AND, FINAL_OR, FORWARD, NO_FINAL, grow, merge
from xlate.text.folders import check_fields, whole_folder, without_mark
from xlate.text.lines import read_lines, write_lines
from xlate.text.vocabulary import EncodedText, TokenText

GROWING = {
    "grow": (False, NO_FINAL),
    "grow-diag": (True, NO_FINAL),
    "grow-diag-final": (True, FINAL_OR),
    "grow-diag-final-and": (True, FINAL_AND),
}
SYMMETRIZATIONS = ("intersection", "union", *GROWING, "forward", "backward")


def symmetrize(
    forward: Links, backward: Links, method: str, source_lengths_S: Lengths, target_lengths_S: Lengths
) -> Links:
    """Combines two alignments of the same sentence pairs, both with the source position first.

    Args:
        method: one of `SYMMETRIZATIONS`; `forward` and `backward` return one of the two.
        source_lengths_S: words of each source sentence.
        target_lengths_S: words of each target sentence.

    Raises:
        InputError: an unknown method, different numbers of sentence pairs, or a link outside its sentence pair.
    """
    check_choice("unknown symmetrisation", method, SYMMETRIZATIONS)
    if not len(forward) == len(backward) == len(source_lengths_S) == len(target_lengths_S):
        raise InputError(
            "alignments and text differ in number of sentences",
            f"{len(forward)} forward, {len(backward)} backward, {len(source_lengths_S)} source, "
            f"{len(target_lengths_S)} target",
            "four equal numbers",
            REMEDY,
        )
    if method in ("forward", "backward"):
        return forward if method == "forward" else backward
    one = forward.source_L, forward.target_L, forward.offsets_S1
    source_U, target_U, offsets_S1, origin_U = merge(*one, backward.source_L, backward.target_L, backward.offsets_S1)
    check_positions(Links(source_U, target_U, offsets_S1), source_lengths_S, target_lengths_S)
    if method in GROWING:
        lengths = np.array(source_lengths_S, np.int64), np.array(target_lengths_S, np.int64)
        kept_U = grow(source_U, target_U, offsets_S1, origin_U, *lengths, *GROWING[method])
    else:
        kept_U = origin_U == BOTH if method == "intersection" else (origin_U & (FORWARD | BACKWARD)) > 0
    return Links(source_U[kept_U], target_U[kept_U], offsets_of(kept_U)[offsets_S1])


log = logging.getLogger(__name__)
# Texts of fewer words on both sides are aligned before another process has started.
WORTHWHILE = 40_000
Corpus = Sequence[Sequence[str]]
SIDES = ("source", "target")
MODEL = "alignment model"
STRANGERS = without_mark(HEADER, f'"{MODEL}"', r"header\.json|(source|target)\.words|(forward|backward)\.\w+(\.\d+)?")


def align(
    source: Corpus,
    target: Corpus,
    method: str = "eflomal",
    symmetrization: str = "grow-diag-final-and",
    seed: int = 0,
    side_by_side: bool = False,
    sample: int | None = None,
    save: str | Path | None = None,
) -> Links:
    """Aligns tokenised sentence pairs; equal input, method, seed and sample give equal links, with any number of
    threads; those of `fast_align` can differ in a few places unless it has one thread (`OMP_NUM_THREADS=1`).

    Methods: `eflomal` (Bayesian IBM 1, HMM and fertility by Gibbs sampling, Östling and Tiedemann 2016: the best
    and the slowest), `fast_align` (Dyer et al. 2013), `hmm` (Vogel et al. 1996), `ibm1`, `ibm2`, `ibm4` (without
    word classes). Each trains a model of the target given the source (forward) and one of the source given the target.
    A pair with an empty side, or with more words than the model takes (1,024), is left without links.

    Args:
        symmetrization: one of `SYMMETRIZATIONS`.
        seed: of the sampler; only `eflomal` draws at random.
        side_by_side: run both directions at the same time, unless the text is small. Either way each direction of a
            large text runs in its own process, so that a signal ends it at once.
        sample: train on so many pairs, evenly spaced over the text; None: on all. The aligner holds the pairs it trains
            on in memory, with counts for all their pairs of words.
        save: a folder for the models of both directions; see `align_with`.

    Raises:
        InputError: an unknown method or symmetrisation, different numbers of sentences, that process died, or there is
            nothing to save, or no folder to save it in.
    """
    check_choice("unknown alignment method", method, METHODS)
    check_choice("unknown symmetrisation", symmetrization, SYMMETRIZATIONS)
    texts = TokenText.of(source), TokenText.of(target)
    if save is None and (sample is None or not len(usable_pairs(*(side.text for side in texts)))):
        return _links(Direction(method, seed, "forward"), texts, symmetrization, side_by_side)
    with tempfile.TemporaryDirectory() as scratch:
        save = save or Path(scratch) / "model"
        learn(save, texts, method, symmetrization, seed, side_by_side, sample)
        return align_with(save, *texts, side_by_side=side_by_side)


def learn(
    save: str | Path,
    texts: tuple[TokenText, TokenText],
    method: str,
    symmetrization: str,
    seed: int,
    side_by_side: bool,
    sample: int | None = None,
) -> None:
    """Trains and saves a model without aligning anything; see `align`, also for what it raises."""
    source, target = (side.text for side in texts)
    matched_lengths(source, target, REMEDY)
    usable = usable_pairs(source, target)
    if not len(usable):
        raise InputError(
            "no model to save", f"{len(source)} sentence pairs, none usable", "pairs with words on both sides"
        )
    size = min(sample or len(usable), len(usable))
    chosen = usable[np.arange(size) * len(usable) // size]
    source, target = source.select(chosen), target.select(chosen)
    with whole_folder(Path(save), f"an {MODEL}", STRANGERS, "name another folder") as folder:
        _both_ways(Direction(method, seed, "forward", save=str(folder)), source, target, side_by_side)
        for side, text in zip(SIDES, texts, strict=True):
            write_lines(folder / f"{side}.words", text.words)
        made = {"method": method, "symmetrization": symmetrization, "seed": seed, "sample": sample}
        save_arrays(folder, MODEL, {}, made, sorted(os.listdir(folder)))


def align_with(
    model: str | Path, source: Corpus, target: Corpus, symmetrization: str | None = None, side_by_side: bool = False
) -> Links:
    """Aligns sentence pairs with a model that `align` saved: its own pairs as it aligned them, and new ones.

    Words that the model does not know all count as one unknown word.

    Args:
        model: the folder.
        symmetrization: one of `SYMMETRIZATIONS`; None: that of the model.
        side_by_side: see `align`.

    Raises:
        InputError: the folder is damaged or something else, and see `align`.
    """
    stored = open_arrays(model, MODEL, {})
    check_fields(stored.metadata, {"method": str, "symmetrization": str}, stored.folder / HEADER, "save it again")
    symmetrization = symmetrization or str(stored.metadata["symmetrization"])
    check_choice("unknown alignment method", stored.metadata["method"], METHODS)
    check_choice("unknown symmetrisation", symmetrization, SYMMETRIZATIONS)
    known = [read_lines(stored.folder / f"{side}.words") for side in SIDES]
    texts = TokenText.of(source, known[0]), TokenText.of(target, known[1])
    direction = Direction(stored.metadata["method"], 0, "forward", model=str(model))
    return _links(direction, texts, symmetrization, side_by_side)


def _links(forward: Direction, texts: tuple[TokenText, TokenText], symmetrization: str, side_by_side: bool) -> Links:
    source, target = texts[0].text, texts[1].text
    matched_lengths(source, target, REMEDY)
    lengths = np.diff(source.offsets_S1), np.diff(target.offsets_S1)
    too_long = int((np.maximum(*lengths) > LONGEST).sum())
    if too_long:
        log.warning("sentence pairs of more than %d words, left without links: %d", LONGEST, too_long)
    if symmetrization in ("forward", "backward"):
        if symmetrization == "forward":
            return _one_way(forward, source, target)
        return _one_way(replace(forward, name="backward"), target, source).transposed()
    links, backward = _both_ways(forward, source, target, side_by_side)
    return symmetrize(links, backward.transposed(), symmetrization, *lengths)


def _both_ways(forward: Direction, source: EncodedText, target: EncodedText, side_by_side: bool) -> tuple[Links, Links]:
    back = replace(forward, name="backward"), target, source
    if not side_by_side or not _is_large(source, target):
        return _one_way(forward, source, target), _one_way(*back)
    with AlignmentProcess(*back, beside=True) as process:
        return _one_way(forward, source, target), process.links()


def _is_large(source: EncodedText, target: EncodedText) -> bool:
    return len(source.ids_T) + len(target.ids_T) >= WORTHWHILE


def _one_way(direction: Direction, source: EncodedText, target: EncodedText) -> Links:
    if not _is_large(source, target):
        return direction.links(source, target)
    with AlignmentProcess(direction, source, target) as process:
        return process.links()
