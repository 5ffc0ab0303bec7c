"""The scores of lists whose parts are predicted in context, as a module: the reference of the compiled pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.candidates.plain_lists import crossed
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.lists import PredictedParts
from xlate.scoring.linear import LinearScorer, bags_of_parts


class PredictedScorer(nn.Module):
    """score_C = base_C + weight · sum over the parts of C (ln p(part) - start), p by softmax over the part's span.

    The scores in a span are `base_C` plus EmbeddingBag(contexts x ids of the candidate; w_F), with weights w_F that
    begin at 0. A part that nothing is predicted of adds nothing.

    Args:
        spans: S instances with contexts and fixed scores.
        parts: what the parts of lists are among their candidates.
        size: the number of weights F, a power of two.
    """

    def __init__(self, spans: CandidateBatch, parts: PredictedParts, size: int) -> None:
        super().__init__()
        self.spans, self.parts = crossed(spans, size), parts
        self.linear = LinearScorer(0, size)

    def forward(self, lists: CandidateBatch) -> Tensor:
        """The scores of C candidates of lists, shape (C,)."""
        logs_C = self.logs()
        choice_P = torch.as_tensor(self.parts.choice_P)
        start_P = torch.as_tensor(self.parts.start_P, dtype=logs_C.dtype)
        # Without a choice the last place, which is nobody's.
        change_P = torch.cat([logs_C, logs_C.new_zeros(1)])[choice_P] - start_P
        parts_P = self.parts.weight * change_P.masked_fill(choice_P < 0, 0.0)
        scores_C = bags_of_parts(lists, parts_P)
        return scores_C if lists.base_C is None else scores_C + torch.as_tensor(lists.base_C, dtype=scores_C.dtype)

    def logs(self) -> Tensor:
        """ln p of the candidates of all spans."""
        score_C: Tensor = self.linear(self.spans)
        if self.parts.alone:
            return nn.functional.logsigmoid(score_C)
        offsets_S1 = torch.as_tensor(self.spans.candidate_offsets_I1)
        top_S = torch.segment_reduce(score_C.detach(), "max", offsets=offsets_S1, initial=0.0)
        span_C = torch.repeat_interleave(torch.arange(len(top_S)), offsets_S1.diff())
        low_C = score_C - top_S[span_C]
        total_S = torch.segment_reduce(low_C.exp(), "sum", offsets=offsets_S1, initial=0.0)
        log_C: Tensor = low_C - total_S.log()[span_C]
        return log_C
