"""xlate tag language=de < raw > tagged: tokens with their parts of speech behind them, as in Haus|NN."""

from __future__ import annotations

from xlate.cli.shell.streams import arriving_lines, write_answers
from xlate.config.schema import TagConfig

CONFIG = TagConfig


def run(config: TagConfig) -> None:
    """Tokenises and tags standard input (or `input=`) line by line, to standard output (or `output=`)."""
    from xlate.text.tagging import open_tagger, tagged_line
    from xlate.text.tokens import Preprocessor

    preprocessor = Preprocessor(config.language, tokenize=config.tokenize)
    tagger = open_tagger(config.language, config.classes)
    lines = (tagged_line(line, preprocessor, tagger) for batch in arriving_lines(config.input) for line in batch)
    write_answers(lines, config.output, config.input)
