"""The rule table of a work directory: made once for what it is made of, made again when that changes."""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.phrases.test_table import assert_same
from tests.test_end_to_end import work  # noqa: F401
from xlate.align.lexical import lexical_table
from xlate.cluster import ClusterConfig
from xlate.errors import InputError
from xlate.models.hierarchical import kind
from xlate.models.hierarchical.kind import TABLE, rule_stage
from xlate.phrases.rule_extraction import extract_rules, score_rules
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import RuleTable, gaps_of
from xlate.work import text_stages
from xlate.work.directory import WorkDirectory
from xlate.work.stages import MARK, Stage, read_stage


@pytest.fixture
def prepared(work: Path, tmp_path: Path) -> WorkDirectory:  # noqa: F811
    """A copy of what rules are made from."""
    for stage in ("corpus", "align"):
        shutil.copytree(work / stage, tmp_path / "work" / stage)
    return WorkDirectory(tmp_path / "work")


def test_the_table_is_that_of_the_text(prepared: WorkDirectory, caplog: pytest.LogCaptureFixture) -> None:
    settings = RuleSettings(symbols=4)
    with caplog.at_level(logging.INFO):
        stage = rule_stage(prepared, settings)
    assert "rules/s" in caplog.text
    text = (*prepared.encoded, prepared.links)
    expected = score_rules(extract_rules(*text, settings), lexical_table(*text), settings)
    assert_same(RuleTable.load(stage.folder / TABLE, prepared.words), expected)
    assert sorted(path.name for path in stage.folder.iterdir()) == [MARK, TABLE]
    assert stage.figures["rules"] == sum(stage.figures["rules_by_gaps"]) == len(expected)
    assert np.bincount(gaps_of(expected.source_sides)[expected.source_B]).tolist() == stage.figures["rules_by_gaps"]


def test_a_table_is_made_once_for_its_settings(prepared: WorkDirectory) -> None:
    one = rule_stage(prepared, RuleSettings(most_gaps=1))
    made = (one.folder / MARK).stat().st_mtime_ns
    assert rule_stage(prepared, RuleSettings(most_gaps=1, memory_mb=7)) == one
    assert (one.folder / MARK).stat().st_mtime_ns == made
    other = rule_stage(prepared, RuleSettings(most_gaps=0))
    assert other.folder != one.folder
    assert other.identity != one.identity
    assert read_stage(prepared.path, f"rules/{one.folder.name}") == one


def test_a_cluster_makes_the_same_table(prepared: WorkDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tasks run in this process; `tests/work/test_stages.py` has those of parts run in others."""

    def sums(stage: Stage) -> dict[str, str]:
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in stage.folder.rglob("*.npy")}

    stage = rule_stage(prepared, RuleSettings())
    expected = sums(stage)
    shutil.rmtree(stage.folder)
    monkeypatch.setattr(text_stages, "PART", 70)
    monkeypatch.setattr(kind, "uses_cluster", lambda _: True)
    assert sums(rule_stage(prepared, RuleSettings(memory_mb=1), cluster=ClusterConfig())) == expected
    assert len(expected) > 10
    assert [path.name for path in (prepared.path / "rules").iterdir()] == [stage.folder.name]


def test_a_work_directory_without_links_is_refused(prepared: WorkDirectory) -> None:
    shutil.rmtree(prepared.path / "align")
    with pytest.raises(InputError, match="not a prepared work directory"):
        rule_stage(prepared, RuleSettings())
