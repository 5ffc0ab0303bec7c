"""xlate inspect run=RUN: the strongest features in words; one translation explained."""

from __future__ import annotations

from xlate.config.schema import InspectConfig

CONFIG = InspectConfig


def run(config: InspectConfig) -> None:
    """Prints what a run learned to standard output."""
    from rich.console import Console

    from xlate.jobs.inspect.job import inspect

    console = Console()
    inspect(config, console if console.is_terminal else Console(width=100))
