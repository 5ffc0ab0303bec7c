"""Runs of the transformer: the pieces of words, its search, its scores of given translations, and the system."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import Tensor

from xlate.array_types import AnyArray
from xlate.config.model_schema import BACKWARD, REVERSE, TransformerModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.models.derivation import Derivation, Step
from xlate.models.kind import Kind
from xlate.models.run_files import weights_of
from xlate.models.system import AnySystem, GraphlessSystem
from xlate.models.transformer.network import BEGIN, END, HEADS, PAD, UNKNOWN, Transformer
from xlate.scoring.weights import WeightsFile
from xlate.search.settings import TransformerSearch
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import Vocabulary
from xlate.work.directory import WorkDirectory

# The array of a weights file, besides the tensors of the network, that holds the model of pieces.
PIECES = "pieces"
# Pieces of translations that are scored together.
MOST = 1024


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, PyTorch computes with one thread: forked processes cannot use the threads of their parent."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def learned_pieces(lines: Iterable[str], most: int) -> bytes:
    """A model of pieces of words, by merging the most frequent neighbours (Sennrich et al. 2016).

    Raises:
        InputError: fewer pieces than the text has letters.
    """
    written = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            model_type="bpe",
            vocab_size=most,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            pad_id=PAD,
            minloglevel=2,
        )
    except RuntimeError as error:
        seen, remedy = f"model.pieces={most}", "a larger model.pieces"
        raise InputError("the words cannot be split into so few pieces", seen, str(error), remedy) from error
    return written.getvalue()


class TransformerModel:
    """A learned network, and the pieces that it knows."""

    def __init__(self, arrays: Mapping[str, AnyArray], settings: TransformerModelConfig) -> None:
        self.settings = settings
        self.pieces = SentencePieceProcessor(model_proto=arrays[PIECES].tobytes())
        self.network = Transformer(len(self.pieces), settings)
        self.network.load_state_dict({name: torch.from_numpy(arrays[name]) for name in self.network.state_dict()})
        self.network.eval()

    @classmethod
    def open(cls, run: Path) -> Self:
        """The model of a finished run; raises what `weights_of` raises."""
        return cls(weights_of(run).extra, config_of_run(run).model)

    def ids(self, words: Sequence[str], *, target: bool) -> list[int]:
        """The pieces of words, in the order in which the network reads or writes them."""
        ids: list[int] = self.pieces.encode(" ".join(words))
        if not target:
            return ids or [UNKNOWN]
        return [BEGIN, *(ids[::-1] if self.settings.direction == REVERSE else ids), END]

    @one_thread()
    @torch.no_grad()
    def log_probs(self, source: Sequence[str], translations: Sequence[Sequence[str]]) -> list[float]:
        """ln of the probability of each translation of a sentence; `direction=backward`: of the sentence, given it."""
        backward = self.settings.direction == BACKWARD
        own = self.ids(source, target=backward)
        others = [self.ids(words, target=not backward) for words in translations]
        order, found = sorted(range(len(others)), key=lambda n: -len(others[n])), np.zeros(len(others))
        while order:
            rows = order[: max(1, MOST // max(len(own), len(others[order[0]])))]
            order, some = order[len(rows) :], padded([others[row] for row in rows])
            pair = (some, padded([own] * len(rows))) if backward else (padded([own]), some)
            found[rows] = self.network.log_probs(*pair).numpy()
        return found.tolist()

    @one_thread()
    @torch.no_grad()
    def listed(self, source: Sequence[str], beam: int) -> list[tuple[float, list[str]]]:
        """The translations of a sentence that a beam search completes, with the mean ln p of their pieces, best first.

        If it completes none, the best incomplete one.
        """
        source_1P = torch.tensor([self.ids(source, target=False)])
        memories, before = self.network.memories(source_1P), list[Any]()
        piece_BP, score_B = torch.full((1, 1), BEGIN), torch.zeros(1)
        found: list[tuple[float, list[str]]] = []
        for length in range(1, 2 * source_1P.shape[1] + 10):
            scores_B1V, before = self.network.continued(piece_BP[:, -1:], memories, before)
            log_BV = scores_B1V[:, 0].log_softmax(dim=1)
            log_BV[:, [UNKNOWN, BEGIN, PAD]] = -torch.inf
            sums_N = (score_B[:, None] + log_BV).flatten()
            score_B, place_B = sums_N.topk(min(beam, len(sums_N)))
            row_B, next_B = place_B // log_BV.shape[1], place_B % log_BV.shape[1]
            piece_BP = torch.cat([piece_BP[row_B], next_B[:, None]], dim=1)
            ended = ((next_B == END) & score_B.isfinite()).nonzero()[:, 0].tolist()
            found += [(float(score_B[row]) / length, self._words(piece_BP[row, 1:-1])) for row in ended]
            going_B = (next_B != END) & score_B.isfinite()
            if len(found) >= beam or not going_B.any():
                break
            score_B, piece_BP, row_B = score_B[going_B], piece_BP[going_B], row_B[going_B]
            before = [(keys[row_B], values[row_B]) for keys, values in before]
        found = found or [(float(score_B[0]) / length, self._words(piece_BP[0, 1:]))]
        return sorted(found, key=lambda one: -one[0])

    def _words(self, piece_P: Tensor) -> list[str]:
        ids = piece_P.tolist()
        return split_tokens(self.pieces.decode(ids[::-1] if self.settings.direction == REVERSE else ids))


def padded(rows: Sequence[Sequence[int]], least: int = 0) -> Tensor:
    """Rows of pieces as one tensor of at least `least` columns, padded at the end."""
    longest = max(least, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


class TransformerSystem(GraphlessSystem[TransformerSearch]):
    """Translates piece by piece; a derivation is one step, and its score the mean of ln p of the pieces."""

    refusal = "a transformer has no graph of phrases or rules", "model=transformer", "use a run of another model"
    LONGEST = 1 << 16
    feature_names = ("mean_log_prob",)
    weights_D = np.ones(1)

    def __init__(self, model: TransformerModel, search: TransformerSearch, fast: bool = True) -> None:
        self.model, self.search, self.fast = model, search, fast

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(())

    def _translate(self, words: Sequence[str]) -> list[Derivation[Any]]:
        if not words:
            return super()._translate(words)
        found = self.model.listed(words, max(self.search.beam, self.search.nbest))
        if self.search.distinct:
            best = {tuple(target): (score, target) for score, target in reversed(found)}
            found = sorted(best.values(), key=lambda one: -one[0])
        return [
            Derivation(tuple(words), (Step(0, ((0, len(words)),), tuple(target)),), np.array([score]), score)
            for score, target in found[: self.search.nbest]
        ]


class TransformerKind(Kind):
    """A network that translates piece by piece."""

    name = "transformer"
    scores = True
    impossible = (
        "the weights of a transformer are not tuned",
        "combine its translations with those of other systems: model=combination",
    )

    def lists(self, model: Any) -> bool:
        return bool(model.direction != BACKWARD)

    def check(self, model: Any) -> None:
        refuse_if(
            model.dimension % (2 * HEADS),
            "the heads of the transformer do not divide its width",
            f"model.dimension={model.dimension}",
            f"a multiple of {2 * HEADS}",
        )

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,  # noqa: ARG002
    ) -> AnySystem:
        refuse_if(
            not self.lists(config.model),
            "this run predicts the source, and only scores translations",
            f"model.direction={BACKWARD}",
            "one of the systems of model=combination",
            file=run,
        )
        return TransformerSystem(TransformerModel(weights.extra, config.model), config.decoder)
