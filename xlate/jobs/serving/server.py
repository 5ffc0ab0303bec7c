"""xlate serve: a server that answers until it is stopped."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import socket
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any

from xlate.config.schema import ServeConfig
from xlate.errors import InputError
from xlate.jobs.serving.handler import Handler
from xlate.jobs.serving.requests import Limits
from xlate.jobs.serving.served import ServedRun, ServedRuns

log = logging.getLogger(__name__)
# How long a server that is stopped waits for answers that are under way.
GRACE_SECONDS = 10.0


class TranslationServer(ThreadingHTTPServer):
    """Answers each client in a thread of its own; runs are loaded after the address is taken.

    Raises:
        InputError: there is no such address, or somebody else has it.
    """

    daemon_threads = True
    allow_reuse_address = True

    runs: ServedRuns

    def __init__(self, host: str, port: int, limits: Limits) -> None:
        self.limits = limits
        self._under_way = 0
        self._none_under_way = threading.Condition()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except (OSError, UnicodeError) as error:
            raise InputError(
                "this address cannot be served",
                seen=f"host={host} port={port}: {getattr(error, 'strerror', None) or error}",
                expected="an address of this machine and a port that is free",
                remedy="choose another port=, or port=0 for any that is free",
            ) from error

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = str(self.server_address[0]), int(self.server_address[1])
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """What is done in here is waited for when the server is stopped."""
        with self._none_under_way:
            self._under_way += 1
        try:
            yield
        finally:
            with self._none_under_way:
                self._under_way -= 1
                self._none_under_way.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """What goes wrong with a connection concerns nobody else."""
        log.debug("a connection ended early", exc_info=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Takes no more clients, and waits a little for answers that are under way."""
        self.server_close()
        with self._none_under_way:
            self._none_under_way.wait_for(lambda: self._under_way == 0, GRACE_SECONDS)


def open_server(config: ServeConfig) -> TranslationServer:
    """The server of a configuration, its runs loaded.

    Raises:
        InputError: as `TranslationServer` and `ServedRun` do, or both runs are the same.
    """
    limits = Limits(config.max_bytes, config.max_words, config.max_nbest)
    server = TranslationServer(config.host, config.port, limits)
    try:
        run = ServedRun(config.run, limits, config.work)
        other = None if config.other is None else ServedRun(config.other, limits, near=config.work)
        server.runs = ServedRuns(run, other)
    except BaseException:
        server.server_close()
        raise
    return server


def serve(config: ServeConfig) -> None:
    """Answers until SIGINT or SIGTERM, then ends what is under way and returns.

    Raises:
        InputError: as `open_server`.
    """
    with open_server(config) as server:
        if not _is_loopback(config.host):
            log.warning("warning: whoever reaches %s can use this server; it asks for no password", config.host)
        log.info("serving %s at %s; Ctrl-C ends", config.run, server.url)
        try:
            server.serve_forever(poll_interval=0.5)
        except KeyboardInterrupt:
            log.info("stopped")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
