"""xlate prepare: corpus → work directory."""

from __future__ import annotations

from xlate.config.schema import PrepareConfig

CONFIG = PrepareConfig


def run(config: PrepareConfig) -> None:
    """Prepares a work directory; see `xlate.jobs.prepare.prepare`."""
    from xlate.jobs.prepare import prepare

    work = prepare(config)
    print(work.path)
