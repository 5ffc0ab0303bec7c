"""How well a language model predicts a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.lm.model import NgramModel
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import UNKNOWN_ID


@dataclass(frozen=True)
class Perplexity:
    """Perplexities over all tokens (one `</s>` a sentence) and over those the model knows."""

    including_unknown: float
    excluding_unknown: float
    tokens: int
    unknown: int

    def __str__(self) -> str:
        return (
            f"perplexity {self.including_unknown:.2f} including and {self.excluding_unknown:.2f} excluding "
            f"{self.unknown} unknown of {self.tokens} tokens"
        )


def perplexity(model: NgramModel, sentences: Sequence[Sequence[str]]) -> Perplexity:
    """Measures tokenised sentences; nan for a text without sentences."""
    text = EncodedText.encode(sentences, model.vocabulary)
    tokens = len(text.ids_T) + len(text)
    unknown = int((text.ids_T == UNKNOWN_ID).sum())
    total = float(model.sentence_logprobs(text).sum())
    without = total - _unknown_share(model, text)
    if not tokens:
        return Perplexity(float("nan"), float("nan"), 0, 0)
    return Perplexity(float(np.exp(-total / tokens)), float(np.exp(-without / (tokens - unknown))), tokens, unknown)


def _unknown_share(model: NgramModel, text: EncodedText) -> float:
    share = 0.0
    for sentence in range(len(text)):
        words = text[sentence]
        if not (words == UNKNOWN_ID).any():
            continue
        state = model.begin_state
        for word in words.tolist():
            logprob, state = model.score(state, word)
            share += logprob if word == UNKNOWN_ID else 0.0
    return share
