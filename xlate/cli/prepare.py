"""xlate prepare: corpus → work directory."""

from __future__ import annotations

from xlate.config.schema import PrepareConfig

CONFIG = PrepareConfig


def run(config: PrepareConfig) -> None:
    """Prepares a work directory; see `xlate.recipes.prepare.prepare`."""
    from xlate.recipes.prepare import prepare

    work = prepare(config)
    print(work.path)
