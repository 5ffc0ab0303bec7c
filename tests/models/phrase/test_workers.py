"""Processes that translate: those that die end the command, and sentences that come slowly are answered at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection

import numpy as np
import pytest

from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights
from xlate.errors import InputError
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.search.processes import each_arriving, each_sentence
from xlate.text.batches import Batches


@pytest.fixture
def decoder(rng: np.random.Generator) -> PhraseDecoder:
    return PhraseDecoder(random_phrase_model(rng, None), random_weights(rng), PhraseSearch())


def killed(_: PhraseDecoder, words: Sequence[str]) -> Sequence[str]:
    if words == ["b"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return words


def half_written(_: PhraseDecoder, words: Sequence[str]) -> Sequence[str]:
    """Dies while it writes its result: the rest never comes."""

    def send(self: Connection, buffer: bytes, write: object = None) -> None:
        os.write(self.fileno(), bytes(buffer)[: len(buffer) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    if words == ["b"]:
        Connection._send = send  # type: ignore[attr-defined,method-assign]
    return [*words, "x" * 1000]


@pytest.mark.parametrize(("end", "place"), [(killed, 199), (half_written, 1)])
def test_a_process_that_dies_is_told_and_the_others_end(
    decoder: PhraseDecoder, end: Callable[[PhraseDecoder, Sequence[str]], Sequence[str]], place: int
) -> None:
    sentences = [["a"]] * 200
    sentences[place] = ["b"]
    with pytest.raises(InputError, match="a process that translated died"):
        list(each_sentence(decoder, end, sentences, 2))
    # Nothing of it is left for the next.
    assert len(list(each_sentence(decoder, killed, [["a"]] * 50, 2))) == 50


def named(_: PhraseDecoder, words: Sequence[str]) -> str:
    return " ".join(words)


@pytest.mark.parametrize("processes", [1, 2])
def test_batches_of_any_size_come_out_in_order(decoder: PhraseDecoder, processes: int) -> None:
    sizes = [0, 1, 0, 3, 100, 7, 0, 64]
    texts = [[[f"w{number}"] for number in range(sum(sizes[:at]), sum(sizes[: at + 1]))] for at in range(len(sizes))]
    found = list(each_arriving(decoder, named, Batches(texts), processes))
    assert found == [f"w{number}" for number in range(sum(sizes))]
    assert list(each_arriving(decoder, named, Batches([[], []]), processes)) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_the_next_sentence_is_asked_for_behind_the_answer_to_the_last(decoder: PhraseDecoder, processes: int) -> None:
    class Asking:
        answered = 0

        def __iter__(self) -> Iterator[list[list[str]]]:
            for number in range(20):
                assert self.answered == number
                yield [[f"w{number}"]]

        def ready(self) -> bool:
            return False

    asking = Asking()
    for _ in each_arriving(decoder, named, asking, processes):
        asking.answered += 1
    assert asking.answered == 20


def test_little_is_read_ahead(decoder: PhraseDecoder) -> None:
    read = 0

    def sentences() -> Iterator[list[list[str]]]:
        nonlocal read
        for number in range(200):
            read += 10
            yield [[f"w{number}"]] * 10

    for taken, _ in enumerate(each_arriving(decoder, named, Batches(sentences()), 2), start=1):
        assert read <= taken + 150
