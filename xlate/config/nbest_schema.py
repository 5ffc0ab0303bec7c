"""The shape of the configuration of `xlate nbest`; the values are in conf/nbest.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field

from xlate.settings import COUNT, LISTED, MISSING, NOT_NEGATIVE, Range, key


@dataclass
class GivenListsConfig:
    """How n-best lists that are given are read."""

    nbest_format: str = key(
        "auto (by the first line), bars (Moses, Marian …), fairseq, plain or jsonl",
        "auto",
        ("auto", "bars", "fairseq", "plain", "jsonl"),
    )
    nbest_size: int | None = key("plain: so many lines per sentence", None, COUNT)
    nbest_duplicates: str = key(
        "hypotheses of a sentence with the same words: keep, or drop all but the first", "keep", ("keep", "drop")
    )
    add_scores: list[str] = key("features NAME=FILE made elsewhere: one number per hypothesis, in their order", [])
    merge: list[str] = key("lists NAME=FILE of other systems for the same sentences", [])


@dataclass
class NbestConfig(GivenListsConfig):
    """xlate nbest."""

    action: str = MISSING
    nbest: str = MISSING
    ref: list[str] = field(default_factory=list)
    weights: str | None = None
    run: str | None = None
    source: str | None = None
    first_id: int | None = key("", None, Range(0))
    mbr: str = key(limit=("none", "bleu", "chrf"))
    out: str | None = None
    best_out: str | None = None
    metric: str = MISSING
    gain_column: str | None = None
    pairs: int = key(limit=LISTED)
    least_margin: float = key(limit=NOT_NEGATIVE)
    lm: str | None = None
    debug: bool = False
