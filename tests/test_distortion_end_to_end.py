"""Distortion predicted in context on the built-in corpus: instances, figures, a phrase system, tables of sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, sets_of, succeed, summary_of
from tests.made_once import made_once
from tests.test_context_end_to_end import CONTEXT, context_run  # noqa: F401
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, listed, trained, translated
from xlate.config.stored import config_of_run
from xlate.features.context import Distances
from xlate.models.context.classifiers import ContextParts, distance_model
from xlate.text.lines import read_lines
from xlate.work.directory import WorkDirectory

DISTORTION = [*CONTEXT, "model.predicts=distortion", "model.reach=3"]


@pytest.fixture(scope="module")
def distortion_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "distortion", lambda folder: trained(work, folder, *DISTORTION))


def test_examples_are_the_distances_of_the_links(work: Path, distortion_run: Path) -> None:  # noqa: F811
    prepared = WorkDirectory(work)
    parts = ContextParts.of(prepared, config_of_run(distortion_run).model)
    seen, (source, target), links = parts.examples(), prepared.encoded, prepared.links
    chosen = np.random.default_rng(1).choice(len(seen), 500, replace=False)
    nowhere = 0
    for x in chosen.tolist():
        s, start, end = (int(a[x]) for a in (seen.spans.sentence_I, seen.spans.start_I, seen.spans.end_I))
        linked = [j for i, j in links.pairs(s) if start <= i < end]
        if linked:
            r = int(np.floor(min(linked) * len(source[s]) / len(target[s]) - start + 0.5))
            assert seen.number_X[x] == min(max(r, -3), 3) + 3
            assert seen.pair_X[x] >= 0
        else:
            assert (seen.number_X[x], seen.pair_X[x], end - start) == (7, -1, 1)
            nowhere += 1
    assert nowhere < 400
    assert parts.counts(seen).sum() == len(seen)


def test_it_learns_and_its_probabilities_add_up(work: Path, distortion_run: Path) -> None:  # noqa: F811
    figures = summary_of(distortion_run)
    assert figures["accuracy"] > figures["baseline_accuracy"]
    model = distance_model(distortion_run, WorkDirectory(work))
    words = WorkDirectory(work).source_tokens("Nirka no holdo va bolko ast.")
    found = model.predict(words)
    sums = np.add.reduceat(np.exp(found.log_C), found.offsets_I1[:-1])
    assert sums == pytest.approx(1.0)
    assert len(found.log_C) == 8 * len(found.spans.start_I)
    # Looked at with a translation: as an instance of training is scored.
    spans, score_IR = model.span_scores(words)
    pair = int(np.flatnonzero(model.targets.table.source_B == spans.phrase_I[0])[0])
    logs_1R = model.log_probabilities(score_IR[:1] + model.pair_scores(np.array([pair])))
    assert np.exp(logs_1R).sum() == pytest.approx(1.0)
    assert not np.allclose(model.pair_scores(np.array([pair])), 0.0)


def test_a_phrase_system_is_tuned_with_it(
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    distortion_run: Path,
    tmp_path: Path,
    printed: Said,
) -> None:
    both = ["context=feature", f"model.context.run={context_run}", f"model.context.distortion={distortion_run}"]
    trained(work, tmp_path / "run", *PHRASE, *both, "loss=mira", "loss.tune.rounds=1")
    assert sets_of(tmp_path / "run")["phrase"].floats["Displacement0"] != 0
    free = listed(tmp_path / "run", tmp_path)
    assert "Displacement0=" in free[1]
    tables = tmp_path / "tables"
    succeed("export", f"run={tmp_path / 'run'}", f"out={tables}", f"input={tmp_path / 'in.txt'}")
    assert listed(tmp_path / "run", tmp_path, f"tables={tables}") == free
    assert {path.name for path in tables.glob("reordering*")} == {f"reordering.{n}.gz" for n in range(3)}
    for n in range(3):
        rows, oriented = (
            [line.split(" ||| ")[:2] for line in read_lines(tables / f"{name}{n}.gz")] for name in ("", "reordering.")
        )
        assert oriented == rows
    assert "Displacement0_-3 to Displacement0_+3" in (tables / "README.txt").read_text()
    shown = printed("inspect", f"run={distortion_run}", "find=va", "sentence='Nirka no holdo va.'", "top=3")
    assert "distances with and without their context" in shown
    assert "p(r|f)" in shown


def test_it_can_be_used_alone(work: Path, distortion_run: Path, tmp_path: Path) -> None:  # noqa: F811
    use = ["context=feature", f"model.context.run={distortion_run}"]
    trained(work, tmp_path / "run", *PHRASE, *use, "loss=mira", "loss.tune.rounds=1", "loss.tune.nbest=10")
    names = sets_of(tmp_path / "run")["phrase"].dense_names
    assert "Displacement0" in names
    assert "Context0" not in names


def test_names_of_distances() -> None:
    assert list(Distances(2).names(np.arange(6))) == ["-2…", "-1", "0", "+1", "+2…", "nowhere"]


def test_shares_are_those_of_the_phrase_and_of_all() -> None:
    count_PR = np.array([[0, 0, 30, 0], [1, 0, 0, 3], [0, 0, 0, 0]])
    share_PR = np.exp(Distances(1).log_shares(count_PR))
    assert share_PR.sum(axis=1) == pytest.approx(np.ones(3))
    assert share_PR[0, 2] > 0.95
    assert share_PR[2] == pytest.approx((count_PR.sum(axis=0) + 1) / 38)
    assert share_PR[1, 3] > share_PR[2, 3]


def test_the_lattice_decoder_looks_at_it(
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    distortion_run: Path,
    tmp_path: Path,
    refused_training: Said,
) -> None:
    lcs = ["model=lcs", f"model.context.run={context_run}", f"model.context.distortion={distortion_run}"]
    small = ["loss=mira", "loss.tune.rounds=1", "loss.tune.nbest=10", "decoder.options=3", "decoder.beam=10"]
    trained(work, tmp_path / "run", *lcs, *small)
    name, weight = list(sets_of(tmp_path / "run")["lcs"].floats.items())[-1]
    assert name == "Displacement0"
    assert weight != 0
    assert len(translated(tmp_path / "run", tmp_path)) == 3
    only = ["model=lcs", f"model.context.run={distortion_run}"]
    assert "not a classifier of translations" in refused_training(work, *only)
