"""The server: answers, refusals with their statuses, several clients at once, its end, and its page."""

from __future__ import annotations

import html
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401
from xlate.cli.main import main
from xlate.config.load import load
from xlate.config.schema import ServeConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.serving.requests import Limits, Request
from xlate.jobs.serving.server import TranslationServer, open_server
from xlate.jobs.translate import Translator

LINES = ["Nirka no holdo va bolko ast.", "Gonban va fuspan ri pikum nu.", "qqq Nirka.", ""]


@pytest.fixture(scope="module")
def server(phrase_run: Path, run: Path) -> Iterator[TranslationServer]:  # noqa: F811
    """The phrase run beside the block run, on a free port."""
    given = [f"run={phrase_run}", f"other={run}", "port=0", "max_words=30", "max_bytes=2000", "max_nbest=7"]
    with open_server(load(ServeConfig, "serve", given)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(server: TranslationServer, body: Any, path: str = "translate") -> tuple[int, Any]:
    """The status and the JSON of an answer; bytes are sent as they are, None by GET."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(server.url + path, data), timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_health(server: TranslationServer) -> None:
    status, answer = asked(server, None, "health")
    assert status == 200
    assert answer["status"] == "ok"
    assert [held["model"] for held in answer["runs"]] == ["phrase", "block"]
    assert answer["limits"] == {"bytes": 2000, "words": 30, "nbest": 7}


def test_it_says_what_translate_says(server: TranslationServer, phrase_run: Path) -> None:  # noqa: F811
    translator = Translator.of_run(config_of_run(phrase_run), phrase_run)
    for line in LINES:
        status, answer = asked(server, {"text": line})
        expected = translator.translate_line(line)
        assert status == 200
        assert answer["translation"] == expected.text
        assert answer["score"] == pytest.approx(expected.derivations[0].score)
        assert answer["unknown"] == expected.derivations[0].copied
        assert set(answer) == {"run", "translation", "score", "unknown"}


def test_lists_are_as_long_as_asked_and_begin_with_the_translation(server: TranslationServer) -> None:
    _, answer = asked(server, {"text": LINES[0], "nbest": 4})
    scores = [one["score"] for one in answer["nbest"]]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert answer["nbest"][0] == {"translation": answer["translation"], "score": answer["score"]}


def test_explained_with_the_other_run(server: TranslationServer) -> None:
    _, answer = asked(server, {"text": LINES[0], "explain": True})
    for one in (answer, answer["other"]):
        assert " ".join(word for step in one["steps"] for word in step["target"].split()) == " ".join(one["target"])
        assert one["trace"]
    assert (answer["run"], answer["other"]["run"]) == ("phrase", "one")


@pytest.mark.parametrize(
    ("body", "path", "status", "words"),
    [
        (b"nothing", "translate", 400, "no JSON"),
        ({"text": "x", "nbest": 8}, "translate", 400, "nbest"),
        ({"text": "x " * 31}, "translate", 400, "too long"),
        ({"text": "x" * 3000}, "translate", 413, "too large"),
        ({"text": "x" * 20_000_000}, "translate", 413, "too large"),
        ({"text": "x"}, "", 405, "method"),
        ({"text": "x"}, "health", 405, "method"),
        (None, "translate", 405, "method"),
        (None, "absent", 404, "no such path"),
        (None, "../../etc/passwd", 404, "no such path"),
        ({"text": "x"}, "absent", 404, "no such path"),
    ],
)
def test_refusals(server: TranslationServer, body: Any, path: str, status: int, words: str) -> None:
    seen, answer = asked(server, body, path)
    assert seen == status
    assert words in answer["error"]
    assert asked(server, None, "health")[0] == 200


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("PUT", {}, 405),
        ("DELETE", {}, 405),
        ("BREW", {}, 405),
        ("POST", {}, 411),
        ("POST", {"Content-Length": "many"}, 400),
        ("POST", {"Content-Length": "-1"}, 400),
        ("POST", {"Content-Length": "9" * 400}, 413),
        ("POST", {"Content-Length": "3000", "Expect": "100-continue"}, 413),
        ("POST", {"Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_odd_requests(server: TranslationServer, method: str, headers: dict[str, str], status: int) -> None:
    connection = http.client.HTTPConnection(str(server.server_address[0]), int(server.server_address[1]), timeout=60)
    connection.putrequest(method, "/translate", skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    reply = connection.getresponse()
    assert reply.status == status
    assert json.load(reply)["error"]
    assert status != 405 or reply.headers["Allow"] == "POST"
    connection.close()


@pytest.mark.parametrize("sent", [b"", b"\xff\x00 nonsense", b"GET", b"GET / HTTP/9", b"POST /translate HTTP/1.1"])
def test_what_is_no_http_harms_nobody(server: TranslationServer, sent: bytes) -> None:
    with socket.create_connection((str(server.server_address[0]), int(server.server_address[1])), timeout=60) as client:
        client.sendall(sent + b"\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    assert asked(server, None, "health")[0] == 200


def test_several_requests_on_one_connection(server: TranslationServer) -> None:
    connection = http.client.HTTPConnection(str(server.server_address[0]), int(server.server_address[1]), timeout=60)
    for line in LINES:
        connection.request("POST", "/translate", json.dumps({"text": line}))
        reply = connection.getresponse()
        assert reply.status == 200
        assert json.load(reply)["translation"] == asked(server, {"text": line})[1]["translation"]
    connection.close()


def test_many_clients_at_once_get_their_own_answers(server: TranslationServer) -> None:
    words = LINES[0].split() + LINES[1].split()
    bodies = [
        {"text": " ".join(words[n % 5 : 5 + n % 7]), "nbest": 1 + n % 3, "explain": n % 2 == 0} for n in range(24)
    ]
    alone = [asked(server, body) for body in bodies]
    with ThreadPoolExecutor(8) as clients:
        together = list(clients.map(lambda body: asked(server, body), bodies))
    assert together == alone


def test_the_page_may_load_nothing(server: TranslationServer) -> None:
    with urllib.request.urlopen(server.url, timeout=60) as reply:
        policy, page = reply.headers["Content-Security-Policy"], reply.read().decode()
    (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
    assert "default-src 'none'" in policy
    assert page.count(f'nonce="{nonce}"') == 2
    assert "{{" not in page
    assert "innerHTML" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    outside = set(re.findall(r"https?://[^\"' ]+", page)) - {"http://www.w3.org/2000/svg"}
    assert not outside
    with urllib.request.urlopen(server.url, timeout=60) as reply:
        assert nonce not in reply.read().decode()


def test_an_address_that_is_taken_or_none_is_refused(
    server: TranslationServer,
    phrase_run: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = server.server_address[1]
    assert main(["serve", f"run={phrase_run}", f"port={port}"]) == 2
    assert "this address cannot be served" in capsys.readouterr().err
    assert main(["serve", f"run={phrase_run}", "port=0", "host=no.such.host.invalid"]) == 2
    assert "no.such.host.invalid" in capsys.readouterr().err
    assert main(["serve", f"run={phrase_run}", "port=70000"]) == 2


def test_a_run_that_is_not_there_is_refused(tmp_path: Path, phrase_run: Path) -> None:  # noqa: F811
    with pytest.raises(InputError):
        open_server(load(ServeConfig, "serve", [f"run={tmp_path}", "port=0"]))
    with pytest.raises(InputError):
        open_server(load(ServeConfig, "serve", [f"run={phrase_run}", f"other={tmp_path}", "port=0"]))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0(phrase_run: Path, number: int) -> None:  # noqa: F811
    command = [sys.executable, "-m", "xlate.cli.main", "serve", f"run={phrase_run}", "port=0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+/", line)))
        # A client that stays connected without asking does not keep it.
        with urllib.request.urlopen(url + "health", timeout=60) as reply:
            assert json.load(reply)["status"] == "ok"
            process.send_signal(number)
            assert process.wait(60) == 0
        assert "stopped" in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


class Marked:
    """Runs whose words are markup."""

    TOKENS = ("<b>", "<script>document.title='broken'</script>", "&amp;", "<img/src/onerror=alert(1)>")

    def answer(self, request: Request) -> dict[str, Any]:
        steps = [
            {
                "source_spans": [[at, at + 1]],
                "target_span": [at, at + 1],
                "source": word,
                "target": word,
                "copied": False,
                "orientation": "swaps",
                "features": [{"family": word, "name": word, "weight": 1.0, "times": 2, "score": 2.0}],
                "more": {"count": 3, "score": -0.5},
                "without_weight": 0,
            }
            for at, word in enumerate(self.TOKENS)
        ]
        one = {"run": "<i>run</i>", "translation": " ".join(self.TOKENS), "score": -1.5, "unknown": 1}
        one |= {"source": list(self.TOKENS), "target": list(self.TOKENS), "steps": steps, "legend": {"<u>": "<u>"}}
        one |= {"features": [{"name": "<u>", "weight": None, "value": 1.0, "score": None}], "links": None}
        one |= {"trace": "</pre><h1>trace</h1>", "nbest": [{"translation": "<p>", "score": 1.0}] * 2}
        return {**one, "other": {**one, "target": ["<b>", "other", "&amp;", "other"]}}

    def described(self) -> list[dict[str, Any]]:
        return [{"run": "<i>run</i>", "model": "<i>"}]


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_every_word_as_text(tmp_path: Path) -> None:
    """The page translates the sentence of its address, draws a curve for each phrase, and runs nothing it is sent."""
    with TranslationServer("127.0.0.1", 0, Limits(1000, 10, 10)) as server:
        server.runs = Marked()  # type: ignore[assignment]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
        waits = ["--virtual-time-budget=20000", "--window-size=1300,900"]
        command = [str(CHROMIUM), *options, *waits, f"{server.url}#a%20b"]
        try:
            found = subprocess.run(command, capture_output=True, timeout=300, check=True).stdout.decode()
        finally:
            server.shutdown()
            thread.join()
    shown = found[found.index("<title>") : found.index("<script nonce")]
    assert found.count("<path ") == 8
    assert "<title>xlate: &lt;i&gt;run&lt;/i&gt;</title>" in shown
    assert " ms</p>" in shown
    for word in Marked.TOKENS:
        assert html.escape(word, quote=False) in shown
    for markup in ("<i>", "<img", "<h1>trace", "<u>", "<p>", "<script"):
        assert markup not in shown
    # The page's own: the name of each run.
    assert shown.count("<b>") == shown.count("<b>&lt;i&gt;run") == 2
    assert shown.count('class="word differs"') == 4


def test_the_work_directory_may_be_named(tmp_path: Path, phrase_run: Path, run: Path) -> None:  # noqa: F811
    folder = Path(config_of_run(phrase_run).work)
    for one in (phrase_run, run):
        shutil.copytree(one, tmp_path / one.name)
        config = tmp_path / one.name / "config.yaml"
        config.write_text(re.sub(r"(?m)^work: .*$", "work: gone/elsewhere", config.read_text()))
    given = [f"run={tmp_path / phrase_run.name}", "port=0"]
    with pytest.raises(InputError, match=r"is not found[\s\S]*work=FOLDER"):
        open_server(load(ServeConfig, "serve", given))
    both = [*given, f"other={tmp_path / run.name}", f"work={folder}"]
    with open_server(load(ServeConfig, "serve", both)) as server:
        assert [held["model"] for held in server.runs.described()] == ["phrase", "block"]
