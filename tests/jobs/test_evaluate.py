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
    system, lines, texts = SYSTEMS["phrase sparse"]().with_search(nbest=1), ["b d a"], dict[str, str]()
    translations = list(Translator(TokenizedText(), system).translate(lines))
    reporter = SimpleNamespace(text=lambda tag, text, _: texts.update({tag: text}), image=lambda *_: None)
    evaluate._show(cast(Any, SimpleNamespace(samples=2)), translations, lines, [], cast(Any, reporter), 1)
    shown = texts["samples/derivation/1"]
    assert all(f"    {line}" in shown for line in full_explanation(translations[0]).splitlines())
