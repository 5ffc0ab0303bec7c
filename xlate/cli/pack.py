"""xlate pack run=RUN out=FILE.tar: a run with all that translating needs."""

from __future__ import annotations

from xlate.config.schema import PackConfig

CONFIG = PackConfig


def run(config: PackConfig) -> None:
    """Packs a run and prints the name of the file or folder; its size goes to standard error."""
    import sys

    from xlate.jobs.pack import pack

    made = pack(config)
    words = f"{made['files']} files, {made['bytes'] / 1e6:.1f} MB, checked by {made['sentences']} sentences"
    if made["folder"] != made["out"]:
        words += f"; unpacked, it is the folder {made['folder']}"
    print(words, file=sys.stderr)
    print(made["out"])
