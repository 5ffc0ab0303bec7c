"""A translation model of torch's transformer layers that caches keys and values during search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from pieces import PAD, Pieces
from torch import Tensor, nn
from torch.nn.functional import linear, log_softmax, scaled_dot_product_attention


@dataclass(frozen=True)
class Memory:
    """Keys and values of S sources for each decoder layer, and a mask of where the sources have words."""

    layers: list[tuple[Tensor, Tensor]]
    present: Tensor


class Translator(nn.Module):
    """Encoder and decoder of torch's transformer layers, with one embedding for both languages and the output."""

    def __init__(self, size: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Embedding(size, width, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        given = {"dropout": dropout, "batch_first": True, "norm_first": True}
        encoder = nn.TransformerEncoderLayer(width, 4, 2 * width, **given)
        decoder = nn.TransformerDecoderLayer(width, 4, 2 * width, **given)
        self.encoder = nn.TransformerEncoder(encoder, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, layers, nn.LayerNorm(width))
        self.dropout = nn.Dropout(dropout)

    def embedded(self, ids: Tensor, start: int = 0) -> Tensor:
        """Embeddings with sinusoidal positions, which count from `start`."""
        width = self.embed.embedding_dim
        place = torch.arange(start, start + ids.shape[1], device=ids.device)[:, None]
        angle = place * torch.exp(torch.arange(0, width, 2, device=ids.device) * (-math.log(1e4) / width))
        return self.dropout(self.embed(ids) * math.sqrt(width) + torch.cat([angle.sin(), angle.cos()], dim=1))

    def encode(self, source: Tensor) -> Tensor:
        """The source as the decoder sees it."""
        return self.encoder(self.embedded(source), src_key_padding_mask=source == PAD)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores of the next piece after each piece of the target."""
        return self.decode(self.encode(source), source == PAD, target)

    def decode(self, memory: Tensor, absent: Tensor, target: Tensor) -> Tensor:
        """Like `forward`, from the output of `encode`, (S, …); `absent` masks positions after the end of a source."""
        mask = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device), 1)
        states = self.decoder(
            self.embedded(target), memory, tgt_mask=mask, tgt_is_causal=True, memory_key_padding_mask=absent
        )
        return states @ self.embed.weight.T

    def remember(self, source: Tensor) -> Memory:
        """What each decoder layer needs of some sources."""
        memory = self.encode(source)
        rows = [_projected(layer.multihead_attn, memory, (1, 2)) for layer in self.decoder.layers]
        return Memory([(keys, values) for keys, values in rows], (source != PAD)[:, None, None])

    def step(self, last: Tensor, memory: Memory, before: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Log probabilities of the next piece of S · B hypotheses, and the keys and values of each layer so far.

        Args:
            last: the last piece of each, (S · B, 1). memory: of S sources.
            before: keys and values of each layer, (S · B, 2, heads, pieces, width of a head).
        """
        state, kept = self.embedded(last, before[0].shape[3] if before else 0), []
        for number, layer in enumerate(self.decoder.layers):
            query, *new = _projected(layer.self_attn, layer.norm1(state), (0, 1, 2))
            told = torch.stack(new, dim=1)
            kept.append(torch.cat([before[number], told], dim=3) if before else told)
            state = state + _attended(layer.self_attn, query, kept[-1][:, 0], kept[-1][:, 1], None).view(state.shape)
            # All hypotheses of a sentence query the same memory in parallel.
            asking = layer.norm2(state).view(len(memory.present), -1, state.shape[2])
            (query,) = _projected(layer.multihead_attn, asking, (0,))
            found = _attended(layer.multihead_attn, query, *memory.layers[number], memory.present)
            state = state + found.reshape(state.shape)
            state = state + layer.linear2(layer.activation(layer.linear1(layer.norm3(state))))
        return log_softmax(self.decoder.norm(state[:, 0]) @ self.embed.weight.T, dim=-1), kept


def _projected(attention: nn.MultiheadAttention, given: Tensor, which: tuple[int, ...]) -> list[Tensor]:
    """Queries, keys and values (0, 1 and 2) of some states, each (rows, heads, places, width of a head)."""
    width, first, last = attention.embed_dim, which[0], which[-1] + 1
    weight, bias = attention.in_proj_weight[first * width : last * width], attention.in_proj_bias
    parts = linear(given, weight, bias[first * width : last * width]).chunk(len(which), dim=-1)
    return [part.unflatten(2, (attention.num_heads, -1)).transpose(1, 2) for part in parts]


def _attended(
    attention: nn.MultiheadAttention, query: Tensor, keys: Tensor, values: Tensor, present: Tensor | None
) -> Tensor:
    """The output of attention for these queries, (rows, places, width)."""
    told = scaled_dot_product_attention(query, keys, values, attn_mask=present)
    return attention.out_proj(told.transpose(1, 2).flatten(2))


def opened(folder: Path, device: str) -> tuple[Translator, Pieces]:
    """The trained model in a folder, and its pieces."""
    weights, pieces = torch.load(folder / "model.pt", map_location=device), Pieces.load(folder / "pieces.json")
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("decoder.layers."))
    model = Translator(len(pieces), weights["embed.weight"].shape[1], layers, 0.0).to(device)
    model.load_state_dict(weights)
    return model.eval(), pieces
