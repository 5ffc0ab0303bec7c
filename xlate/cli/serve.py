"""xlate serve run=RUN: translates over HTTP, with a page for people."""

from __future__ import annotations

from xlate.config.schema import ServeConfig

CONFIG = ServeConfig


def run(config: ServeConfig) -> None:
    """Answers until it is stopped."""
    from xlate.jobs.serving.server import serve

    serve(config)
