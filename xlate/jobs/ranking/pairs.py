"""Pairs of a better and a worse translation from lists, as JSON lines for trainers by preference (DPO, CPO)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.formats.nbest_list import Hypothesis


@dataclass(frozen=True)
class PairSettings:
    """Which pairs: at most `most` of a list, with gains (0 to 1) that differ by `least` or more, and not by nothing."""

    most: int = 1
    least: float = 0.05


def preference_pairs(
    lists: Sequence[Sequence[Hypothesis]], prompts: Sequence[str], gain_C: Floats, settings: PairSettings
) -> Iterator[dict[str, str | float | int]]:
    """Yields pairs list by list: the best with the worst, the second best with the second worst, and so on.

    Each has `id`, the number of the sentence, `prompt`, `chosen`, `rejected`, and `margin`, the difference of gains. Of
    equal gains the earlier hypothesis is the better one; the same words are taken once.

    Args:
        lists: the hypotheses of each sentence. prompts: their sources.
        gain_C: the gain of each hypothesis. settings: which pairs.
    """
    start = 0
    for group, prompt in zip(lists, prompts, strict=True):
        gains = gain_C[start : start + len(group)]
        start += len(group)
        places = list({group[place].text: place for place in reversed(range(len(group)))}.values())
        order = sorted(places, key=lambda place: (-gains[place], place))
        for better, worse in list(zip(order, reversed(order), strict=True))[: min(settings.most, len(order) // 2)]:
            margin = float(gains[better] - gains[worse])
            if margin < settings.least or margin <= 0.0:
                break
            yield {
                "id": group[better].sentence,
                "prompt": prompt,
                "chosen": group[better].text,
                "rejected": group[worse].text,
                "margin": round(margin, 6),
            }


def checked_prompts(lines: list[str] | None, file: str) -> list[str]:
    """The sources of lists.

    Raises:
        InputError: the list does not say them all, and no file does.
    """
    if lines is None:
        raise InputError(
            "pairs are made of sentences whose source is known",
            file=file,
            seen="a list that does not say the source of every sentence",
            expected="a list that does (src in JSON lines, S- of fairseq), or their file",
            remedy="source=FILE",
        )
    return lines


def json_line(pair: dict[str, str | float | int]) -> str:
    """A pair as a line of JSON."""
    return json.dumps(pair, ensure_ascii=False)
