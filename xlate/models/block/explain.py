"""A derivation in words: what each block translates, and what spoke for and against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xlate.kernels.orientation import LETTERS
from xlate.models.block.lexicon import BlockLexicon
from xlate.models.block.steps import BlockDerivation, BlockStep
from xlate.models.derivation import COPIED


def explain(model: BlockLexicon, source: Sequence[str], derivation: BlockDerivation) -> str:
    """The trace of a derivation as text: one block a line, then the end of the sentence, then the sum.

    A line holds source span (from 0, end excluded), orientation, source words -> target words, how often the block was
    seen, its score and the contributions to it: weight × cost of every float with a contribution, the binary
    features with their weights, the partition. The strongest contribution stands first. Contributions are natural logs.

    Args:
        model: whose derivation it is.
        source: the words to show for the source side, as many as were translated.
        derivation: what to explain.

    Example:
        [0,2) N  das haus -> the house  (N=12)  -3.41 = unigram -0.5×4.2=-2.1, lexical -0.3×2.6=-0.78, …
    """
    lines = [_line(model, source, step) for step in derivation.steps]
    lines.append(f"sum {derivation.score:.4f}  {' '.join(derivation.words)}")
    return "\n".join(lines)


def contributions(step: BlockStep, names: Sequence[str]) -> list[tuple[str, float]]:
    """What a step's score is the sum of, as (how it came about, value), strongest first, zeros left out."""
    parts = [
        (f"{name} {weight:.3g}×{cost:.4g}", weight * cost)
        for name, weight, cost in zip(names, step.weights, step.floats, strict=True)
    ]
    parts.extend(step.sparse)
    parts.append(("partition", -step.normalizer))
    return sorted((part for part in parts if part[1]), key=lambda part: -abs(part[1]))


def _line(model: BlockLexicon, source: Sequence[str], step: BlockStep) -> str:
    what = "end of sentence" if step.is_end else "  ".join(_block(model, source, step))
    reasons = ", ".join(f"{how}={value:.4g}" for how, value in contributions(step, model.float_names))
    return f"{what}  {step.score:.4f}" + (f" = {reasons}" if reasons else "")


def _block(model: BlockLexicon, source: Sequence[str], step: BlockStep) -> Iterator[str]:
    start, end = step.source_span
    yield f"[{start},{end}) {LETTERS[step.orientation]}"
    yield f"{' '.join(source[start:end])} -> {' '.join(step.target_words)}"
    yield "(copied)" if step.unit == COPIED else f"(N={int(model.blocks.count_B[step.unit])})"
