"""xlate aer links=A gold=G: alignment error rate."""

from __future__ import annotations

from xlate.config.schema import AerCommandConfig

CONFIG = AerCommandConfig


def run(config: AerCommandConfig) -> None:
    """Prints the alignment error rate, precision and recall of links against gold links."""
    from xlate.align.error_rate import alignment_error_rate, read_gold, read_hypothesis_links

    gold = read_gold(config.gold)
    links = read_hypothesis_links(config.links, swapped=config.swapped)
    print(alignment_error_rate(links, gold))
