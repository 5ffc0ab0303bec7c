"""Phrase models on disk, and several processes."""

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
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.model import PhraseModel, load_phrase_model, save_phrase_model

SENTENCES = [words.split() for words in ("a b c", "", "d", "c c a b a", "b d a", "a", "c a b d")]


def decoded(model: PhraseModel, weights: np.ndarray, **search: object) -> list[tuple[list[str], float]]:
    decoder = PhraseDecoder(model, weights, PhraseSearch(**{"algorithm": "stack", **search}))  # type: ignore[arg-type]
    return [(d.words, d.score) for words in SENTENCES for d in decoder.translate(words)]


@pytest.mark.parametrize("kind", [None, "hier"])
def test_a_model_read_back_translates_alike(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, kind: str | None
) -> None:
    """It has its index, also when parts of it are replaced, as opening a run does."""
    model, weights = random_phrase_model(rng, kind), random_weights(rng)
    expected = decoded(model, weights, nbest=5)
    save_phrase_model(tmp_path / "model", model)
    monkeypatch.setattr("xlate.phrases.table.phrase_finder", lambda _: pytest.fail("made again"))
    again = load_phrase_model(tmp_path / "model")
    assert decoded(replace(again, histories=()), weights, nbest=5) == expected
    save_phrase_model(tmp_path / "model", again)
    assert decoded(load_phrase_model(tmp_path / "model"), weights, nbest=5) == expected


def test_a_model_of_parts_that_do_not_belong_together_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    folder = tmp_path / "model"
    save_phrase_model(folder, random_phrase_model(rng, "wbe"))
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
    seen: set[str] = set()
    while len(seen) < 3:
        seen.add(line := parent.stdout.readline())
        assert line, "the parent ended by itself"
    parent.kill()
    # The pipe closes when the last process that could write to it is gone.
    parent.communicate(timeout=30)
