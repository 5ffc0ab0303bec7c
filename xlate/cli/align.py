"""xlate align source=S target=T out=LINKS: word alignment of two tokenised files."""

from __future__ import annotations

from xlate.config.schema import AlignCommandConfig

CONFIG = AlignCommandConfig


def run(config: AlignCommandConfig) -> None:
    """Aligns the words of two files line by line and writes Pharaoh links; a pair with an empty side gets an empty
    line.
    """
    from xlate.align.aligner import align
    from xlate.align.links import write_links
    from xlate.text.lines import read_parallel
    from xlate.text.tokens import split_tokens
    from xlate.work.corpus_stage import cores

    sides = read_parallel(config.source, config.target)
    source, target = ([split_tokens(line) for line in lines] for lines in sides)
    links = align(source, target, config.method, config.symmetrization, config.seed, side_by_side=cores() > 1)
    write_links(config.out, links)
