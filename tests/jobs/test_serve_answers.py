"""Requests are checked, and answered in JSON."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest

from tests.models.test_every_system import SENTENCES, SYSTEMS
from xlate import __version__
from xlate.jobs.serve import PATHS, SHOWN, Limits, Refused, check_sender, explained, openapi, read_request
from xlate.jobs.sparse_features import FiredFeatures
from xlate.jobs.translate import TokenizedText, Translator


@pytest.mark.parametrize("name", ["distortion", "phrase sparse", "hierarchical structure", "lcs deletions"])
def test_steps_cover_the_source_and_make_up_the_target(name: str) -> None:
    system = SYSTEMS[name]().with_search(nbest=1)
    translator, fired = Translator(TokenizedText(), system), FiredFeatures(system)
    for words in [*SENTENCES, []]:
        translation = translator.translate_line(" ".join(words))
        answer = json.loads(json.dumps(explained(translation, fired), allow_nan=False))
        one = {"run": "a", "translation": translation.text, "score": None, "unknown": 0}
        assert fits(one | answer, SCHEMAS["Answer"])
        steps = answer["steps"]
        covered = [at for step in steps for a, b in step["source_spans"] for at in range(a, b)]
        assert sorted(covered) == list(range(len(words)))
        assert [at for step in steps for at in range(*step["target_span"])] == list(range(len(answer["target"])))
        for step in steps:
            assert step["target"] == " ".join(answer["target"][slice(*step["target_span"])])
            assert step["source"] == " … ".join(" ".join(words[a:b]) for a, b in step["source_spans"])
            assert len(step["features"]) <= SHOWN
            sizes = [abs(one["score"]) for one in step["features"]]
            assert sizes == sorted(sizes, reverse=True)
        # They add up with those that are not shown.
        told = sum(sum(one["score"] for one in step["features"]) + step["more"]["score"] for step in steps)
        charged = sum(row["score"] for row in answer["features"] if row["name"].startswith(("binary", "Sparse")))
        assert told == pytest.approx(charged, abs=1e-9)
        if name == "phrase sparse":
            assert not words or set(answer["legend"]) >= {"reordering", "source_first"}
        score = translation.derivations[0].score
        assert sum(row["score"] for row in answer["features"]) == pytest.approx(score, abs=1e-9)
        assert answer["trace"] == system.explain(translation.source, translation.derivations[0])


LIMITS = Limits(bytes=1000, words=5, nbest=10, texts=3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"text": "a b"}, ("a b", 1, False)),
        ({"text": " a b \n"}, ("a b", 1, False)),
        ({"text": ""}, ("", 1, False)),
        ({"text": "a\u2028b\tc"}, ("a\u2028b\tc", 1, False)),
        ({"text": "a", "nbest": 10, "explain": True}, ("a", 10, True)),
        ({"text": [" a b \n", "", "c"], "nbest": 2}, (["a b", "", "c"], 2, False)),
        ({"text": []}, ([], 1, False)),
    ],
)
def test_what_is_asked(body: dict[str, Any], expected: tuple[str, int, bool]) -> None:
    assert read_request(json.dumps(body).encode(), LIMITS) == expected
    assert fits(body, SCHEMAS["Request"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b" " * 1001, "too large"),
        (b"\xff", "not JSON"),
        (b"[" * 900, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "text must be a string"),
        (b'{"text": ["a", 1]}', "text must be a string"),
        (b'{"text": ["a", "b", "c", "d"]}', "too many texts"),
        (b'{"text": ["a", "b\\nc"]}', "one line"),
        (b'{"text": "a\\nb"}', "one line"),
        (b'{"text": "a\\u0000b"}', "control character"),
        (b'{"text": "a\\u0085b"}', "control character"),
        (b'{"text": "\\ud800"}', "half a character"),
        (b'{"text": "a", "nbest": 11}', "nbest is out of range"),
        (b'{"text": "a", "nbest": 0}', "nbest is out of range"),
        (b'{"text": "a", "nbest": true}', "nbest is out of range"),
        (b'{"text": "a", "nbest": 2.0}', "nbest is out of range"),
        (b'{"text": "a", "explain": 1}', "explain must be"),
        (b'{"text": "a", "nbets": 1}', "unknown field"),
    ],
)
def test_what_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        read_request(body, LIMITS)
    assert caught.value.status == (413 if "too large" in words else 400)
    assert fits(json.loads(json.dumps(caught.value.body)), SCHEMAS["Refusal"])
    assert caught.value.body.get("index") == (1 if b"\\nc" in body else None)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """What a reference such as #/components/schemas/Answer leads to; any other schema itself."""
    while "$ref" in schema:
        found: Any = DESCRIBED
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        schema = found
    return schema


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is as a schema says, by the words of JSON Schema that the description uses."""
    schema = resolved(schema)
    if "oneOf" in schema:
        return sum(fits(value, one) for one in schema["oneOf"]) == 1
    types = schema.get("type", [])
    known: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    known |= {"number": int | float, "integer": int}
    if not any(isinstance(value, known[one]) for one in ([types] if isinstance(types, str) else types)):
        return False
    if isinstance(value, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
        return set(schema.get("required", [])) <= set(value) and all(
            fits(held, properties[name]) if name in properties else rest is not False and fits(held, rest)
            for name, held in value.items()
        )
    if isinstance(value, list):
        short = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return short and all(fits(one, schema["items"]) for one in value)
    big = not isinstance(value, int) or schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return big and value in schema.get("enum", [value])


DESCRIBED = openapi(LIMITS)
SCHEMAS = DESCRIBED["components"]["schemas"]


def test_the_description_is_openapi() -> None:
    assert DESCRIBED["openapi"].startswith("3.1.")
    assert DESCRIBED["info"]["version"] == __version__
    methods = {path: {method.upper() for method in held} for path, held in DESCRIBED["paths"].items()}
    assert methods == {path: set(allowed) - {"HEAD"} for path, allowed in PATHS.items()}
    operations = [operation for held in DESCRIBED["paths"].values() for operation in held.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(resolved(response)["description"] for each in operations for response in each["responses"].values())
    for kind, name in re.findall(r"#/components/(\w+)/(\w+)", json.dumps(DESCRIBED)):
        assert name in DESCRIBED["components"][kind]
    for refused in ({"text": ["a"] * 4}, {"text": "a", "nbest": 11}, {"text": "a", "nbets": 1}, {"nbest": 1}):
        assert not fits(refused, SCHEMAS["Request"])


@pytest.mark.parametrize(
    ("host", "origin", "answered"),
    [
        ("127.0.0.9:1", None, True),
        ("[::1]:8000", None, True),
        ("10.0.0.7:8000", None, True),
        ("mt.example.org", None, True),
        ("evil.example", None, False),
        ("localhost.evil.example:8000", None, False),
        ("localhost:8000, evil.example", None, False),
        ("", None, False),
        ("localhost:8000", "http://localhost:8000", True),
        ("127.0.0.1:8000", "https://mt.example.org", True),
        ("localhost:8000", "http://evil.example", False),
        ("localhost:8000", "null", False),
        ("localhost:8000", "", False),
    ],
)
def test_only_known_hosts_and_pages_are_answered(host: str, origin: str | None, answered: bool) -> None:
    environ = {"HTTP_HOST": host} | ({} if origin is None else {"HTTP_ORIGIN": origin})
    with contextlib.nullcontext() if answered else pytest.raises(Refused) as caught:
        check_sender(environ, "10.0.0.7", ["mt.example.org"])
    assert answered or caught.value.status == 403
