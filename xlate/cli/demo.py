"""xlate demo: the whole path on the built-in corpus."""

from __future__ import annotations

from xlate.config.schema import DemoConfig

CONFIG = DemoConfig


def run(config: DemoConfig) -> None:
    """Prepares the built-in corpus, trains each kind of system, translates the test set, and prints the results."""
    from xlate.jobs.demo import demo

    demo(config)
