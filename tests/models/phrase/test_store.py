"""Phrase models on disk, several processes, and derivations as text."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights
from xlate.errors import InputError
from xlate.formats.nbest_list import iterate_hypotheses
from xlate.models.derivation import COPIED
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.model import PhraseModel, load_phrase_model, save_phrase_model
from xlate.text.lines import write_lines

SENTENCES = [words.split() for words in ("a b c", "", "d", "c c a b a", "b d a", "a", "c a b d")]


def decoded(model: PhraseModel, weights: np.ndarray, **search: object) -> list[tuple[list[str], float]]:
    decoder = PhraseDecoder(model, weights, PhraseSearch(**{"algorithm": "stack", **search}))  # type: ignore[arg-type]
    return [(d.words, d.score) for words in SENTENCES for d in decoder.translate(words)]


@pytest.mark.parametrize("kind", [None, "wbe", "hier"])
def test_a_model_read_back_translates_alike(tmp_path: Path, rng: np.random.Generator, kind: str | None) -> None:
    model, weights = random_phrase_model(rng, kind), random_weights(rng)
    save_phrase_model(tmp_path / "model", model)
    again = load_phrase_model(tmp_path / "model")
    assert decoded(model, weights, nbest=5) == decoded(again, weights, nbest=5)
    save_phrase_model(tmp_path / "model", again)
    assert decoded(load_phrase_model(tmp_path / "model"), weights) == decoded(model, weights)


def test_an_opened_model_has_its_index(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, weights = random_phrase_model(rng, "hier"), random_weights(rng)
    save_phrase_model(tmp_path / "model", model)
    expected = decoded(model, weights, nbest=5)
    monkeypatch.setattr("xlate.phrases.table.phrase_finder", lambda _: pytest.fail("made again"))
    # Opening a run replaces parts of its model.
    again = replace(load_phrase_model(tmp_path / "model"), histories=())
    assert decoded(again, weights, nbest=5) == expected


def test_a_torn_model_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    folder = tmp_path / "model"
    save_phrase_model(folder, random_phrase_model(rng, "wbe"))
    for name in ("header.json", "reordering.npy", "finder.row_N.npy"):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(kept[: len(kept) // 2])
        with pytest.raises(InputError, match=name):
            load_phrase_model(folder)
        (folder / name).write_bytes(kept)
    load_phrase_model(folder)
    other = random_phrase_model(rng, "wbe")
    other.table.select(np.arange(len(other.table)) > 0).save(folder / "table")
    with pytest.raises(InputError, match="does not belong to the folder above"):
        load_phrase_model(folder)
    with pytest.raises(InputError, match="phrase model"):
        load_phrase_model(tmp_path)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_names_its_sentence(rng: np.random.Generator, processes: int) -> None:
    decoder = PhraseDecoder(random_phrase_model(rng, None), random_weights(rng), PhraseSearch(max_words=200_000))
    with pytest.raises(InputError, match="sentence 2: the sentence is too long"):
        list(decoder.translate_many([["a"], ["a"] * 100_000], processes))
    with pytest.raises(InputError, match="processes"):
        list(decoder.translate_many(SENTENCES, 0))


def test_nbest_lines_are_read_back(tmp_path: Path, rng: np.random.Generator) -> None:
    model, weights = random_phrase_model(rng, "wbe"), random_weights(rng)
    decoder = PhraseDecoder(model, weights, PhraseSearch(algorithm="stack", nbest=4))
    found = decoder.translate(["c", "a", "d", "b"])
    write_lines(tmp_path / "n", (decoder.nbest_line(7, d) for d in found))
    for derivation, line in zip(found, iterate_hypotheses(tmp_path / "n"), strict=True):
        assert line.sentence == 7
        assert line.text.split() == derivation.words
        assert line.values == pytest.approx(derivation.features_D[:-1].tolist(), rel=1e-8)
        assert line.total == pytest.approx(derivation.score, rel=1e-8)
        written = [[side.split("-") for side in block.split("=")] for block in line.fields[4].split()]
        spans = zip((step.source_span for step in derivation.steps), derivation.target_spans, strict=True)
        assert [[(int(s[0]), int(s[-1]) + 1) for s in block] for block in written] == [list(both) for both in spans]


def test_an_explanation_adds_up(rng: np.random.Generator) -> None:
    model, weights = random_phrase_model(rng, "hier"), random_weights(rng)
    source = ["a", "b", "d", "c"]
    decoder = PhraseDecoder(model, weights, PhraseSearch(algorithm="stack"))
    best = decoder.translate(source)[0]
    text = decoder.explain(source, best)
    parts = [float(line.rsplit("=", 1)[1]) for line in text.splitlines() if " × " in line]
    assert sum(parts) == pytest.approx(best.score, abs=1e-3)
    assert text.count("->") == len(best.steps)
    assert text.count("(copied)") == sum(step.unit == COPIED for step in best.steps)
    assert len(model.columns) == len(weights)


def test_processes_end_with_their_parent(tmp_path: Path) -> None:
    """A parent that is killed leaves no process behind."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys, time\n"
        "import numpy as np\n"
        "from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights\n"
        "from xlate.models.phrase.decoder import PhraseDecoder\n"
        "from xlate.search.settings import PhraseSearch\n"
        "from xlate.search.processes import each_sentence\n"
        "rng = np.random.default_rng(1)\n"
        "def slow(decoder, words):\n"
        "    os.write(1, f'{os.getpid()}\\n'.encode())\n"
        "    time.sleep(0.05)\n"
        "    return words\n"
        "decoder = PhraseDecoder(random_phrase_model(rng, None), random_weights(rng), PhraseSearch())\n"
        "list(each_sentence(decoder, slow, [['a']] * 10_000, 2))\n"
    )
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, cwd=root, env=environment
    )
    assert parent.stdout is not None
    seen: set[str] = set()
    while len(seen) < 3:
        seen.add(line := parent.stdout.readline())
        assert line, "the parent ended by itself"
    parent.kill()
    # The pipe closes when the last process that could write to it is gone.
    parent.communicate(timeout=30)
