"""The network: the layers of PyTorch's transformer, with keys and values that a search keeps from step to step.

Shapes: S sentences or hypotheses, P pieces, V pieces in the vocabulary, W numbers per piece, H heads.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear, scaled_dot_product_attention

from xlate.config.model_schema import TransformerModelConfig

# The numbers of pieces with a meaning of their own.
UNKNOWN, BEGIN, END, PAD = range(4)
HEADS = 4
# The keys and values of one layer.
Pair = tuple[Tensor, Tensor]


class Transformer(nn.Module):
    """Encoder and decoder, with one embedding for the pieces of both languages and of the output.

    Args:
        size: the number of pieces.
        settings: the sizes of the layers.
    """

    def __init__(self, size: int, settings: TransformerModelConfig) -> None:
        super().__init__()
        width, dropout = settings.dimension, settings.dropout
        self.embed = nn.Embedding(size, width, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        encoder = nn.TransformerEncoderLayer(width, HEADS, 2 * width, dropout, batch_first=True, norm_first=True)
        decoder = nn.TransformerDecoderLayer(width, HEADS, 2 * width, dropout, batch_first=True, norm_first=True)
        norm = nn.LayerNorm(width)
        self.encoder = nn.TransformerEncoder(encoder, settings.layers, norm, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, settings.layers, nn.LayerNorm(width))
        self.dropout = nn.Dropout(dropout)
        # Only the outputs of the parts of layers are thinned out: drawing what to leave out takes long on a CPU.
        for layer in (*self.encoder.layers, *self.decoder.layers):
            layer.dropout.p = layer.self_attn.dropout = 0.0
        for layer in self.decoder.layers:
            layer.multihead_attn.dropout = 0.0

    def embedded(self, piece_SP: Tensor, start: int = 0) -> Tensor:
        """Embeddings with sinusoidal positions, which count from `start`, (S, P, W)."""
        width = self.embed.embedding_dim
        place_P = torch.arange(start, start + piece_SP.shape[1], device=piece_SP.device)[:, None]
        steps = torch.arange(0, width, 2, device=piece_SP.device)
        angle = place_P * torch.exp(steps * (-math.log(1e4) / width))
        vectors = self.embed(piece_SP) * math.sqrt(width) + torch.cat([angle.sin(), angle.cos()], dim=1)
        return cast(Tensor, self.dropout(vectors))

    def encode(self, source_SP: Tensor) -> Tensor:
        """The sources as the decoder sees them, (S, P, W)."""
        return cast(Tensor, self.encoder(self.embedded(source_SP), src_key_padding_mask=source_SP == PAD))

    def decode(self, memory_SPW: Tensor, source_SP: Tensor, target_SP: Tensor) -> Tensor:
        """Scores of the next piece after each piece of the targets, (S, P, V)."""
        length = target_SP.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool, device=target_SP.device).triu(1)
        states_SPW = self.decoder(
            self.embedded(target_SP),
            memory_SPW,
            tgt_mask=mask,
            tgt_is_causal=True,
            memory_key_padding_mask=source_SP == PAD,
        )
        return cast(Tensor, states_SPW @ self.embed.weight.T)

    def loss(self, source_SP: Tensor, target_SP: Tensor, smoothing: float) -> Tensor:
        """The mean cross-entropy (natural log) of the pieces of targets, which have `BEGIN` and `END`."""
        scores_SPV = self.decode(self.encode(source_SP), source_SP, target_SP[:, :-1])
        known = {"ignore_index": PAD, "label_smoothing": smoothing}
        return cross_entropy(scores_SPV.flatten(0, 1), target_SP[:, 1:].flatten(), **known)  # type: ignore[arg-type]

    def log_probs(self, source_SP: Tensor, target_SP: Tensor) -> Tensor:
        """ln of the probabilities of targets of as many sources, or of one, (S,)."""
        if len(source_SP) == 1:
            scores_SPV, _ = self.continued(target_SP[:, :-1], self.memories(source_SP), [])
        else:
            scores_SPV = self.decode(self.encode(source_SP), source_SP, target_SP[:, :-1])
        log_SP = scores_SPV.gather(2, target_SP[:, 1:, None])[..., 0] - scores_SPV.logsumexp(dim=2)
        return log_SP.masked_fill(target_SP[:, 1:] == PAD, 0.0).sum(dim=1)

    def memories(self, source_1P: Tensor) -> list[Pair]:
        """The keys and values of a source in each layer of the decoder."""
        memory = self.encode(source_1P)
        found = (_heads(layer.multihead_attn, memory, (1, 2)) for layer in self.decoder.layers)
        return [(keys, values) for keys, values in found]

    def continued(self, piece_SP: Tensor, memories: list[Pair], before: list[Pair]) -> tuple[Tensor, list[Pair]]:
        """What `decode` gives for hypotheses of one source, and the keys and values of each layer.

        Hypotheses that go on have one piece more.

        Args:
            piece_SP: the pieces. memories: see there.
            before: the keys and values of earlier pieces, (S, H, P, W / H) each; none at first.
        """
        state, kept = self.embedded(piece_SP, before[0][0].shape[2] if before else 0), []
        for number, layer in enumerate(self.decoder.layers):
            query, keys, values = _heads(layer.self_attn, layer.norm1(state), (0, 1, 2))
            if before:
                keys, values = (torch.cat(pair, dim=2) for pair in zip(before[number], (keys, values), strict=True))
            kept.append((keys, values))
            state = state + _attended(layer.self_attn, query, keys, values, causal=piece_SP.shape[1] > 1)
            # All pieces query the same memory, like those of one sentence.
            (query,) = _heads(layer.multihead_attn, layer.norm2(state).flatten(0, 1)[None], (0,))
            state = state + _attended(layer.multihead_attn, query, *memories[number]).view_as(state)
            state = state + layer.linear2(layer.activation(layer.linear1(layer.norm3(state))))
        return cast(nn.LayerNorm, self.decoder.norm)(state) @ self.embed.weight.T, kept


def _heads(attention: nn.Module, state_SPW: Tensor, which: tuple[int, ...]) -> list[Tensor]:
    """Queries, keys and values (0, 1 and 2) of some states, (S, H, P, W / H) each."""
    assert isinstance(attention, nn.MultiheadAttention)
    rows = slice(which[0] * attention.embed_dim, (which[-1] + 1) * attention.embed_dim)
    weight, bias = attention.in_proj_weight, attention.in_proj_bias
    parts = linear(state_SPW, weight[rows], bias[rows]).chunk(len(which), dim=-1)
    return [part.view(*part.shape[:2], HEADS, -1).transpose(1, 2) for part in parts]


def _attended(attention: nn.Module, query: Tensor, keys: Tensor, values: Tensor, *, causal: bool = False) -> Tensor:
    """The output of attention, (S, P, W)."""
    assert isinstance(attention, nn.MultiheadAttention)
    found = scaled_dot_product_attention(query, keys, values, is_causal=causal).transpose(1, 2).flatten(2)
    return cast(Tensor, attention.out_proj(found))
