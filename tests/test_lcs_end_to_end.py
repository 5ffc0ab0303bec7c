"""The lattice decoder on a small built-in corpus: untrained and tuned runs, translation, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Said, sets_of, succeed, summary_of
from tests.made_once import made_once
from tests.test_context_end_to_end import context_run  # noqa: F401
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import listed, trained, translated

LCS = ["model=lcs", "decoder.beam=30"]


@pytest.fixture(scope="module")
def lcs_run(work: Path, context_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    use = [f"model.context.run={context_run}", "decoder.deletions=true"]
    return made_once(tmp_path_factory, "lcs", lambda folder: trained(work, folder, *LCS, *use, "measure_test=true"))


def test_an_untrained_run_is_measured(lcs_run: Path) -> None:
    figures = summary_of(lcs_run)
    assert figures["weights"]["dense"] == {"LM0": 1.0, "Context0": 0.0, "Deletion0": -1.0}
    assert figures["test_bleu"] > 10
    # Order is what the decoder knows least of.
    assert figures["test_lexacc"] > figures["test_bleu"]
    assert (lcs_run / "test.out").exists()


def test_it_translates_as_every_run_does(lcs_run: Path, tmp_path: Path) -> None:
    lines, lists = listed(lcs_run, tmp_path, f"lattice_out={tmp_path / 'lattices'}")
    assert len(lines) == 3
    assert lines[1] == ""
    first = lists.splitlines()[0]
    assert first.startswith("0 |||")
    assert "LM0= " in first
    assert "Context0= " in first
    succeed("nbest", "action=check", f"nbest={tmp_path / 'nbest'}")
    assert translated(lcs_run, tmp_path, "decoder.deletions=false", "decoder.window=1") != []
    assert len(translated(lcs_run, tmp_path, "trace=true")) >= 3


def test_weights_are_tuned_from_a_run(
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    lcs_run: Path,
    tmp_path: Path,
) -> None:
    given = [*LCS, f"model.context.run={context_run}", f"base={lcs_run}", "decoder.deletions=true", "loss=mira"]
    tune = {"start": "base", "weights": "[Context0]", "select": "last", "rounds": 1, "nbest": 10}
    trained(work, tmp_path / "run", *given, *(f"loss.tune.{key}={value}" for key, value in tune.items()))
    weights = sets_of(tmp_path / "run")["lcs"].floats
    assert weights["Context0"] != 0
    assert weights["Deletion0"] / weights["LM0"] == pytest.approx(-1.0)


def test_what_does_not_fit_is_refused(
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    lcs_run: Path,
    tmp_path: Path,
    refused_training: Said,
) -> None:
    use = f"model.context.run={context_run}"
    for given, words in (
        ([f"model.context.run={tmp_path / 'none'}"], "not a run directory"),
        ([f"model.context.run={lcs_run}"], "not a run of a classifier"),
        ([use, f"base={lcs_run}"], "does not start from a run"),
        ([use, "loss=hinge"], "needs a tuner"),
        ([use, "loss=xbleu"], "no sparse features"),
        ([use, "loss=mira", f"base={context_run}", "loss.tune.start=base"], "a different model"),
    ):
        assert words in refused_training(work, "model=lcs", *given), given
