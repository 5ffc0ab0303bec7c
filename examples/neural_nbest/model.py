"""A translation model of torch's transformer layers, whose search goes on from what it has computed."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from pieces import PAD, Pieces
from torch import Tensor, nn
from torch.nn.functional import log_softmax


class Translator(nn.Module):
    """Encoder and decoder of torch's transformer layers, one embedding for both languages and the output."""

    def __init__(self, size: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Embedding(size, width, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        given = {"dropout": dropout, "batch_first": True, "norm_first": True}
        encoder = nn.TransformerEncoderLayer(width, 4, 4 * width, **given)
        decoder = nn.TransformerDecoderLayer(width, 4, 4 * width, **given)
        self.encoder = nn.TransformerEncoder(encoder, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, layers, nn.LayerNorm(width))
        self.dropout = nn.Dropout(dropout)

    def embedded(self, ids: Tensor, start: int = 0) -> Tensor:
        """Embeddings with sines of their places, the first of which is `start`."""
        width = self.embed.embedding_dim
        place = torch.arange(start, start + ids.shape[1], device=ids.device)[:, None]
        angle = place * torch.exp(torch.arange(0, width, 2, device=ids.device) * (-math.log(1e4) / width))
        return self.dropout(self.embed(ids) * math.sqrt(width) + torch.cat([angle.sin(), angle.cos()], dim=1))

    def encode(self, source: Tensor) -> Tensor:
        """The source as the decoder sees it."""
        return self.encoder(self.embedded(source), src_key_padding_mask=source == PAD)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores of the piece behind each piece of the target."""
        mask = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device), 1)
        states = self.decoder(
            self.embedded(target),
            self.encode(source),
            tgt_mask=mask,
            tgt_is_causal=True,
            memory_key_padding_mask=source == PAD,
        )
        return states @ self.embed.weight.T

    def step(self, last: Tensor, memory: Tensor, absent: Tensor, before: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Log probabilities of the next piece of S · B hypotheses, and what each layer keeps of those so far.

        Args:
            last: the last piece of each, (S · B, 1). memory, absent: sources, and where they have ended, (S, …).
            before: what each layer keeps.
        """
        state, kept = self.embedded(last, before[0].shape[1] if before else 0), []
        for number, layer in enumerate(self.decoder.layers):
            new = layer.norm1(state)
            all_of_it = torch.cat([before[number], new], dim=1) if before else new
            kept.append(all_of_it)
            state = state + layer.self_attn(new, all_of_it, all_of_it, need_weights=False)[0]
            # The hypotheses of a sentence ask the same memory side by side.
            asking = layer.norm2(state).view(len(memory), -1, state.shape[2])
            told = layer.multihead_attn(asking, memory, memory, key_padding_mask=absent, need_weights=False)[0]
            state = state + told.reshape(state.shape)
            state = state + layer.linear2(layer.activation(layer.linear1(layer.norm3(state))))
        return log_softmax(self.decoder.norm(state[:, 0]) @ self.embed.weight.T, dim=-1), kept


def opened(folder: Path, device: str) -> tuple[Translator, Pieces]:
    """The model that was trained into a folder, and its pieces."""
    weights, pieces = torch.load(folder / "model.pt", map_location=device), Pieces.load(folder / "pieces.json")
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("decoder.layers."))
    model = Translator(len(pieces), weights["embed.weight"].shape[1], layers, 0.0).to(device)
    model.load_state_dict(weights)
    return model.eval(), pieces
