"""The network of the joint model, its loss in training, and its measures on text; see Devlin et al. (2014)."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from xlate.arrays.ranges import pieces
from xlate.config.model_schema import JointModelConfig

# The words of a batch whose probabilities are computed together in `measures`.
ROWS = 512


class JointNetwork(nn.Module):
    """Scores target words, which approximate natural logs of probabilities, by one hidden layer.

    Args:
        words: numbers of source and target words.
        settings: the sizes of the layers.
        shares_V: of the target words in the text, with which their scores begin.
    """

    log_share_V: Tensor

    def __init__(self, words: tuple[int, int], settings: JointModelConfig, shares_V: Tensor) -> None:
        super().__init__()
        inputs = 2 * settings.window + settings.order
        # Only the words of a batch have gradients.
        self.source, self.target = (nn.Embedding(count, settings.dimension, sparse=True) for count in words)
        self.hidden = nn.Linear(inputs * settings.dimension, settings.hidden)
        self.output, self.bias = (nn.Embedding(words[1], size, sparse=True) for size in (settings.hidden, 1))
        for layer in (self.source, self.target, self.output):
            nn.init.uniform_(layer.weight, -0.1, 0.1)
        self.register_buffer("log_share_V", shares_V.log())
        self.bias.weight.data = shares_V.log()[:, None]

    def hidden_BH(self, source_BW: Tensor, history_BM: Tensor) -> Tensor:
        """The hidden layer for windows of source words and histories, whose nearest word comes first."""
        embedded = self.source(source_BW).flatten(1), self.target(history_BM).flatten(1)
        return torch.tanh(cast(Tensor, self.hidden(torch.cat(embedded, dim=1))))

    def forward(self, source_BW: Tensor, history_BM: Tensor) -> Tensor:
        """The scores of all words, (B, V)."""
        return self.hidden_BH(source_BW, history_BM) @ self.output.weight.T + self.bias.weight[:, 0]

    def contrast(self, source_BW: Tensor, history_BM: Tensor, word_B: Tensor, noise_K: Tensor) -> Tensor:
        """The mean loss of right words against K noise words, drawn by their shares and common to the batch."""
        hidden_BH = self.hidden_BH(source_BW, history_BM)
        right_B = (hidden_BH * self.output(word_B)).sum(dim=1) + self.bias(word_B)[:, 0]
        noise_BK = hidden_BH @ self.output(noise_K).T + self.bias(noise_K)[:, 0]
        # ln of how many of the noise words are expected to be a word.
        expected_V = self.log_share_V + math.log(len(noise_K))
        return noise_contrast(right_B - expected_V[word_B], noise_BK - expected_V[noise_K])

    @torch.no_grad()
    def measures(self, source_NW: Tensor, history_NM: Tensor, word_N: Tensor) -> tuple[float, float]:
        """The perplexity of words with all scores normalised, and the mean of the absolute value of ln Z."""
        logs, norms = 0.0, 0.0
        for part in pieces(len(word_N), ROWS):
            scores_BV = self(source_NW[part], history_NM[part])
            norm_B = scores_BV.logsumexp(dim=1)
            logs += float((scores_BV.gather(1, word_N[part, None])[:, 0] - norm_B).sum())
            norms += float(norm_B.abs().sum())
        return math.exp(-logs / max(len(word_N), 1)), norms / max(len(word_N), 1)


def noise_contrast(right_B: Tensor, noise_BK: Tensor) -> Tensor:
    """The loss of noise-contrastive estimation, the mean over a batch (Gutmann & Hyvärinen 2010, Eq. 3).

    Args:
        right_B: scores of the right words minus ln of how many of the K noise words are expected to be them.
        noise_BK: the same of the noise words.
    """
    return -(logsigmoid(right_B) + logsigmoid(-noise_BK).sum(dim=1)).mean()
