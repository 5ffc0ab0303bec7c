"""xlate serve run=RUN: translates over HTTP, with a page for people."""

from __future__ import annotations

from xlate.config.schema import ServeConfig
from xlate.errors import InputError

CONFIG = ServeConfig


def run(config: ServeConfig) -> None:
    """Answers until it is stopped."""
    try:
        from xlate.jobs.serving.server import serve
    except ModuleNotFoundError as error:
        if error.name != "waitress":
            raise
        expected, remedy = "the package waitress", 'pip install "xlate[serve]"'
        raise InputError("the HTTP server waitress is not installed", expected=expected, remedy=remedy) from error
    serve(config)
