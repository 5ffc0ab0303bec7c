"""How many requests per second does `xlate serve` answer, and how long do the slowest wait, when many ask at once?

The peer is Python's own ThreadingHTTPServer with the same answer, which takes a millisecond and, like translations, is
computed for one client at a time. Ours and the peer take turns; the table shows medians.

Run: python benchmarks/bench_serve.py [--quick]
     --quick: 400 requests instead of 2,000, one turn instead of three
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import resource
import socket
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import cast

from xlate.jobs.serve import Application, Limits, ServedRun, http_server, open_socket

REQUESTS, ROUNDS = (400, 1) if "--quick" in sys.argv else (2000, 3)
# Clients at once, whether they keep their connections, and connections beside them that never finish their request.
LOADS = {
    "20 clients": (20, False, 0),
    "100 clients": (100, False, 0),
    "100 clients, keep-alive": (100, True, 0),
    "100 clients, 50 half-open": (100, False, 50),
}


class Run:
    name, kind, asked = "run", "phrase", threading.Lock()

    def answer(self, text: str, *_: object) -> dict[str, str]:
        with self.asked:
            time.sleep(1e-3)
        return {"run": self.name, "translation": text}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(Run().answer(request["text"])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Peer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        pass


def serve(name: str, port: Connection) -> None:
    if name == "ours":
        server = http_server(
            Application([cast(ServedRun, Run())], Limits(65536, 200, 100, 100), "127.0.0.1"),
            open_socket("127.0.0.1", 0),
        )
        port.send(int(server.effective_port))
        server.run()
    peer = Peer(("127.0.0.1", 0), Handler)
    port.send(peer.server_port)
    peer.serve_forever()


def load(port: int, clients: int, keep: bool, half_open: int) -> tuple[float, float, int]:
    """Requests per second, the 99th percentile of their seconds, and how many failed."""

    def ask(_: int) -> list[float]:
        times = []
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(REQUESTS // clients):
            start = time.perf_counter()
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("POST", "/translate", '{"text": "Nirka no holdo va bolko ast."}')
                connection.getresponse().read()
                times.append(time.perf_counter() - start)
                if keep:
                    continue
            connection.close()
        return times

    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(half_open)]
    assert all(one.send(b"POST / HTTP/1.1\r\n") for one in held)
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        times = sorted(seconds for found in pool.map(ask, range(clients)) for seconds in found)
    return len(times) / (time.perf_counter() - start), times[int(0.99 * len(times))], REQUESTS - len(times)


def main() -> None:
    """Prints a table, and a JSON line last."""
    ports = {}
    for name in ("ours", "peer"):
        receiving, sending = multiprocessing.Pipe()
        multiprocessing.Process(target=serve, args=(name, sending), daemon=True).start()
        ports[name] = receiving.recv()
    measured: dict[tuple[str, str], list[tuple[float, float, int]]] = {
        (shown, name): [] for shown in LOADS for name in ports
    }
    for _ in range(ROUNDS):
        for shown, name in measured:
            measured[shown, name].append(load(ports[name], *LOADS[shown]))
    print(f"{'load':27}{'server':8}{'requests/s':>11}{'p99 s':>8}{'failed':>8}")
    for (shown, name), rows in measured.items():
        rate, slowest, failed = zip(*rows, strict=True)
        print(f"{shown:27}{name:8}{statistics.median(rate):>11.0f}{statistics.median(slowest):>8.3f}{sum(failed):>8}")
    ours, peer = (round(statistics.median(row[1] for row in measured["100 clients", name]), 3) for name in ports)
    figures = {"name": "serve", "ours": ours, "peer": peer, "unit": "s p99", "ratio": round(ours / peer, 2)}
    print(json.dumps({**figures, "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)}))


if __name__ == "__main__":
    main()
