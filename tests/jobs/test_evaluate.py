"""What a run shows of the dev set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tests.models.test_every_system import SYSTEMS
from xlate.jobs import evaluate
from xlate.jobs.inspect.features import full_explanation
from xlate.jobs.run_text import TokenizedText
from xlate.jobs.translate import Translator


def test_derivations_are_shown_with_the_features_that_decided() -> None:
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    lines = ["b d a", "a b"]
    translations = list(Translator(TokenizedText(), system).translate(lines))
    texts: dict[str, str] = {}
    reporter = SimpleNamespace(text=lambda tag, text, _: texts.update({tag: text}), image=lambda *_: None)
    evaluate._show(cast(Any, SimpleNamespace(samples=2)), translations, lines, [], cast(Any, reporter), 1)
    for number in (1, 2):
        shown = texts[f"samples/derivation/{number}"]
        assert "sparse features that fired: " in shown
    whole = full_explanation(translations[0]).splitlines()
    assert any(all(f"    {line}" in text for line in whole) for text in texts.values())
