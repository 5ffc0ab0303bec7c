"""The server: answers, refusals with their statuses, several clients at once, its end, and its page."""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from waitress.wasyncore import close_all

from tests.commands import Said
from tests.made_once import as_prepared
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401
from xlate.config.load import load
from xlate.config.schema import ServeConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs import serve
from xlate.jobs.serve import Application, Limits, ServedRun, http_server, open_server, open_socket, openapi
from xlate.jobs.translate import Translator

LINES = ["Nirka no holdo va bolko ast.", "Gonban va fuspan ri pikum nu.", "qqq Nirka.", ""]


def opened(*given: str) -> Any:
    """The server of a command line."""
    return open_server(load(ServeConfig, "serve", ["port=0", *given]))


def stub(answering: Any) -> Any:
    """A server of something else than a run."""
    return http_server(Application([answering], Limits(1000, 10, 10, 3), "127.0.0.1"), open_socket("127.0.0.1", 0))


@contextlib.contextmanager
def running(server: Any) -> Iterator[Any]:
    """A server that answers in a thread."""
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        # It runs for as long as something is open.
        # After another wake-up it may have closed everything before this one is written.
        with contextlib.suppress(OSError):
            server.trigger.pull_trigger(lambda: close_all(server._map))
        thread.join()
        server.task_dispatcher.shutdown()


@pytest.fixture(scope="module")
def server(phrase_run: Path, run: Path) -> Iterator[Any]:  # noqa: F811
    """The phrase run beside the block run."""
    with running(
        opened(f"run={phrase_run}", f"other={run}", "max_words=30", "max_bytes=2000", "max_nbest=7")
    ) as server:
        yield server


def asked(server: Any, body: Any, path: str = "translate") -> tuple[int, Any]:
    """The status and the JSON of an answer; bytes are sent as they are, None by GET."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    url = f"http://127.0.0.1:{server.effective_port}/{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def connected(server: Any) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.effective_port)), timeout=60)


def test_health_and_the_description_of_the_api(server: Any) -> None:
    status, answer = asked(server, None, "health")
    assert (status, answer["status"]) == (200, "ok")
    assert [held["model"] for held in answer["runs"]] == ["phrase", "block"]
    assert answer["limits"] == {"bytes": 2000, "words": 30, "nbest": 7, "texts": 100}
    assert asked(server, None, "openapi.json") == (200, openapi(Limits(**answer["limits"])))
    with pytest.raises(InputError, match="the server cannot use this address"):
        open_socket("127.0.0.1", int(server.effective_port))


def test_it_says_what_translate_says(server: Any, phrase_run: Path) -> None:  # noqa: F811
    translator = Translator.of_run(config_of_run(phrase_run), phrase_run)
    for line in LINES:
        expected = translator.translate_line(line)
        best = expected.derivations[0]
        answer = {"run": "phrase", "translation": expected.text, "score": pytest.approx(best.score)}
        assert asked(server, {"text": line}) == (200, {**answer, "unknown": best.copied})
    _, answer = asked(server, {"text": LINES[0], "nbest": 4, "explain": True})
    scores = [one["score"] for one in answer["nbest"]]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert answer["nbest"][0] == {"translation": answer["translation"], "score": answer["score"]}
    assert answer["other"]["run"] == "one"
    assert answer["trace"]
    assert answer["other"]["trace"]


def test_a_list_is_answered_as_its_texts_one_by_one(server: Any) -> None:
    more = {"nbest": 2, "explain": True}
    alone = [asked(server, {"text": line} | more)[1] for line in LINES]
    assert asked(server, {"text": LINES} | more) == (200, {"answers": alone})
    status, answer = asked(server, {"text": [LINES[0], "a " * 31]})
    assert (status, answer["error"], answer["index"]) == (400, "the sentence is too long", 1)


HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
ASK = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
CHUNKS = b'c\r\n{"text": ""}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HEALTH + b"Connection: close\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(HEALTH) + 2, HEALTH), 200),
        (HEALTH.replace(b"localhost", b"evil.example") + b"Connection: close\r\n\r\n", 403),
        (ASK + b"Origin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}", 403),
        (ASK + b"Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, 400),
        (ASK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
        (ASK + b"Content-Length: %s\r\n\r\n" % (b"9" * 5000), 400),
        (ASK + b"Content-Length: 9999999999\r\n\r\n", 413),
        (b"PUT" + ASK.removeprefix(b"POST") + b"\r\n", 405),
        (ASK.replace(b"/translate", b"/translations") + b"\r\n", 404),
        (b"\xff\x00 nonsense\r\n\r\n", 400),
    ],
)
def test_one_answer_to_each_request(server: Any, sent: bytes, status: int) -> None:
    """No body is answered as a second request, and none has two lengths."""
    with connected(server) as client:
        client.sendall(sent)
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert re.findall(rb"HTTP/1\.[01] (\d+)", answer) == [b"%d" % status]
    assert status != 405 or b"Allow: POST\r\n" in answer


def test_a_client_that_sends_line_after_line_is_dropped(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for held, name, seconds in ((server.adj, "channel_timeout", 0.2), (server.adj, "cleanup_interval", 0.05)):
        monkeypatch.setattr(held, name, seconds)
    monkeypatch.setattr(server, "next_channel_cleanup", 0)

    def send_lines(client: socket.socket) -> None:
        for _ in range(200):
            time.sleep(0.05)
            client.sendall(b"X: y\r\n")

    with connected(server) as client:
        client.sendall(HEALTH)
        with pytest.raises(ConnectionError):
            send_lines(client)


def test_clients_wait_in_a_queue_until_they_are_answered() -> None:
    server = stub(Marked())
    with contextlib.ExitStack() as held:
        clients = [held.enter_context(connected(server)) for _ in range(100)]
        for client in clients:
            client.sendall(HEALTH + b"Connection: close\r\n\r\n")
        held.enter_context(running(server))
        assert all(client.recv(4096).startswith(b"HTTP/1.1 200 OK") for client in clients)


def test_many_clients_at_once_get_their_own_answers(server: Any) -> None:
    words = LINES[0].split() + LINES[1].split()
    bodies = [
        {"text": " ".join(words[n % 5 : 5 + n % 7]), "nbest": 1 + n % 3, "explain": n % 2 == 0} for n in range(16)
    ]
    alone = [asked(server, body) for body in bodies]
    with ThreadPoolExecutor(8) as clients:
        together = list(clients.map(lambda body: asked(server, body), bodies))
    assert together == alone


def test_long_sentences_wrap() -> None:
    page = (Path(serve.__file__).parent / "page.html").read_text(encoding="utf-8")
    styles = dict(re.findall(r"^([^{\n]+) \{ (.*?) \}", page, flags=re.MULTILINE))
    assert "flex-wrap: wrap" in styles[".row"]
    assert "pre-wrap" in styles["pre"]
    assert all("overflow-wrap: anywhere" in styles[name] for name in (".said", ".word", "td", "pre"))
    assert "color-scheme: light dark" in page
    assert "@media (prefers-color-scheme: dark)" in page


def test_the_page_may_load_nothing(server: Any) -> None:
    address = f"http://127.0.0.1:{server.effective_port}/"
    with urllib.request.urlopen(address, timeout=60) as reply:
        policy, page = reply.headers["Content-Security-Policy"], reply.read().decode()
    (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
    assert "default-src 'none'" in policy
    assert page.count(f'nonce="{nonce}"') == 2
    assert "{{" not in page
    assert "innerHTML" not in page
    assert set(re.findall(r"(?:src|href)=\"(?!data:)([^\"]*)", page)) == {"openapi.json"}
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg"}
    with urllib.request.urlopen(address, timeout=60) as reply:
        assert nonce not in reply.read().decode()


def test_without_waitress_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, refused: Said) -> None:
    monkeypatch.setitem(sys.modules, "waitress", None)
    monkeypatch.delitem(sys.modules, "xlate.jobs.serve")
    assert 'pip install "xlate[serve]"' in refused("serve", "run=absent")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0(phrase_run: Path, number: int) -> None:  # noqa: F811
    command = [sys.executable, "-m", "xlate.cli.main", "serve", f"run={phrase_run}", "port=0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        port = next(
            int(found[1]) for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:(\d+)/", line))
        )
        # Neither a client that asks nothing more nor one in the middle of its body keeps it.
        with (
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60),
            socket.create_connection(("127.0.0.1", port)) as client,
        ):
            client.sendall(ASK + b"Content-Length: 9\r\n\r\n{")
            process.send_signal(number)
            assert process.wait(9) == 0
        assert "stopped" in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


class Marked:
    """Runs whose words are markup."""

    name, kind = "<i>run</i>", "<i>"
    TOKENS = ("<b>", "<script>document.title='broken'</script>", "&amp;", "<img/src/onerror=alert(1)>")

    def answer(self, *_: object) -> dict[str, Any]:
        features = {"family": "<u>", "meaning": "<u>&lt;", "weight": 1.0, "times": 2, "score": 2.0}
        step = {
            "copied": False,
            "term": False,
            "orientation": "swaps",
            "more": {"count": 3, "score": -0.5},
            "without_weight": 0,
        }
        steps = [
            step | {"source_spans": [[at, at + 1]], "target_span": [at, at + 1], "source": word, "target": word}
            | {"features": [features | {"name": word}]}
            for at, word in enumerate(self.TOKENS)
        ]  # fmt: skip
        one = {"run": "<i>run</i>", "translation": " ".join(self.TOKENS), "score": -1.5, "unknown": 1}
        one |= {"source": list(self.TOKENS), "target": list(self.TOKENS), "steps": steps, "legend": {"<u>": "<u>"}}
        one |= {"features": [{"name": "<u>", "weight": None, "value": 1.0, "score": None}], "links": None}
        one |= {"trace": "</pre><h1>trace</h1>", "nbest": [{"translation": "<p>", "score": 1.0}] * 2}
        return {**one, "other": {**one, "target": ["<b>", "other", "&amp;", "other"]}}


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_every_word_as_text(tmp_path: Path) -> None:
    """The page translates the sentence of its address, draws a curve for each phrase, and runs nothing it is sent."""
    with running(stub(Marked())) as server:
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
        waits = ["--virtual-time-budget=20000", "--window-size=700,900"]
        command = [str(CHROMIUM), *options, *waits, f"http://127.0.0.1:{server.effective_port}/#a%20b"]
        found = subprocess.run(command, capture_output=True, timeout=300, check=True).stdout.decode()
    shown = found[found.index("<title>") : found.index("<script nonce")]
    assert found.count("<path ") == 8
    # The sentence is too long for the window: what has no place on a line is on the next.
    assert found.count('class="line"') > 2
    assert "<title>xlate: &lt;i&gt;run&lt;/i&gt;</title>" in shown
    assert " ms</p>" in shown
    for word in Marked.TOKENS:
        assert html.escape(word, quote=False) in shown
    for markup in ("<i>", "<img", "<h1>trace", "<u>", "<p>", "<script"):
        assert markup not in shown
    # The page's own: the name of each run.
    assert shown.count("<b>") == shown.count("<b>&lt;i&gt;run") == 2
    assert shown.count('class="word differs"') == 4


def test_a_glossary_may_be_served(tmp_path: Path, phrase_run: Path) -> None:  # noqa: F811
    (tmp_path / "terms").write_text("nirka\tgrand lady\n")
    limits = Limits(1000, 10, 10, 3)
    answer = ServedRun(str(phrase_run), limits, terms=(f"{tmp_path}/terms", "hard")).answer(LINES[0], explain=True)
    assert "grand lady" in answer["translation"].lower()
    assert [step["target"] for step in answer["steps"] if step["term"]] == ["grand lady"]
    (tmp_path / "terms").write_text("a a a a a a a a a a a a\tb\n")
    with pytest.raises(InputError, match="too many words"):
        opened(f"run={phrase_run}", f"glossary={tmp_path / 'terms'}")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("other={run}", "both runs are the same"),
        ("other=nowhere", "nowhere"),
        ("host=no.such.host.invalid", "address"),
        ("allow=[http://x]", "allow must name hosts"),
        ("allow=['']", "allow must name hosts"),
    ],
)
def test_what_cannot_be_served_is_refused(phrase_run: Path, given: str, message: str) -> None:  # noqa: F811
    with pytest.raises(InputError, match=message):
        opened(f"run={phrase_run}", given.format(run=phrase_run))


def test_the_work_directory_may_be_named(tmp_path: Path, phrase_run: Path, run: Path) -> None:  # noqa: F811
    for one in (phrase_run, run):
        shutil.copytree(one, tmp_path / one.name)
        config = tmp_path / one.name / "config.yaml"
        config.write_text(re.sub(r"(?m)^work: .*$", "work: gone/elsewhere", config.read_text()))
    phrase, block = (f"{key}={tmp_path / one.name}" for key, one in (("run", phrase_run), ("other", run)))
    with pytest.raises(InputError, match=r"was not found[\s\S]*work=FOLDER"):
        opened(phrase)
    as_prepared(Path(config_of_run(phrase_run).work), tmp_path / "work")
    with running(opened(phrase, block, f"work={tmp_path / 'work'}")) as server:
        os.rename(tmp_path / "work", tmp_path / "away")
        answer = asked(server, {"text": LINES[0], "explain": True})[1]
    assert answer["other"]["translation"]


def test_a_file_that_goes_is_not_the_fault_of_clients(caplog: pytest.LogCaptureFixture) -> None:
    class Gone(Marked):
        def answer(self, *_: object) -> dict[str, Any]:
            raise InputError("cannot be read", file="work/s", remedy="prepare again")

    with running(stub(Gone())) as server:
        assert asked(server, {"text": "a"}) == (500, {"error": "the server failed; see its log"})
    assert "prepare again" in caplog.text
