"""Sentences of a report are explained with what decided."""

from __future__ import annotations

import html
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.models.test_every_system import SYSTEMS
from xlate.jobs import report
from xlate.jobs.inspect.fired import full_explanation
from xlate.jobs.run_text import TokenizedText
from xlate.jobs.translate import Translator


def test_sentences_come_with_the_features_that_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(TokenizedText(), SYSTEMS["phrase sparse"]().with_search(nbest=1))
    work = SimpleNamespace(has_split=lambda _: True, source_lines=lambda _: ["b d a"])
    monkeypatch.setattr(report, "config_of_run", lambda _: None)
    monkeypatch.setattr(report, "work_of_run", lambda _: work)
    monkeypatch.setattr(Translator, "of_run", lambda *_: translator)
    heading, _, explanation = report.explained_sentences(Path("run"), "dev", 2)
    assert heading.startswith("<h3>b d a → ")
    assert "sparse features that fired: " in explanation
    assert explanation == f"<pre>{html.escape(full_explanation(translator.translate_line('b d a')))}</pre>"
