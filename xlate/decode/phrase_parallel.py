"""Several sentences at a time, over processes that share one copy of the model."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, TypeVar, cast

from xlate.decode.phrase import PhraseDecoder, PhraseDerivation
from xlate.errors import InputError

CHUNK = 8
# Chunks that wait or are being worked on, for each process: enough that none is idle, few enough to keep memory small.
AHEAD = 4
# Seconds between two looks at whether the parent is alive.
LOOK = 1.0
Sentence = Sequence[str]
Result = TypeVar("Result")
Translate = Callable[[PhraseDecoder, Sentence], Result]
_work: tuple[PhraseDecoder, Translate[object]] | None = None


def translate_many(
    decoder: PhraseDecoder, sentences: Sequence[Sentence], processes: int = 1
) -> Iterator[list[PhraseDerivation]]:
    """Translates tokenised sentences, in their order, with so many forked processes; 1 forks none.

    Raises:
        InputError: fewer than one process, or one that died; what the decoder raises, naming the sentence.
    """
    return each_sentence(decoder, PhraseDecoder.translate, sentences, processes)


def each_sentence(
    decoder: PhraseDecoder, translate: Translate[Result], sentences: Sequence[Sentence], processes: int = 1
) -> Iterator[Result]:
    """What `translate` gives for each of the sentences, in their order; see `translate_many`."""
    if processes < 1:
        raise InputError("too few processes", seen=processes, expected="1 or more")
    decoder.prepare(sentences)
    if processes == 1 or len(sentences) < 2:
        for number, words in enumerate(sentences):
            yield _translated(decoder, translate, number, words)
        return
    # The first sentence is translated here, so that what is compiled when it is needed is compiled once.
    yield _translated(decoder, translate, 0, sentences[0])
    yield from _forked(decoder, translate, sentences, processes)


def _forked(
    decoder: PhraseDecoder, translate: Translate[Result], sentences: Sequence[Sentence], processes: int
) -> Iterator[Result]:
    global _work
    # Forked processes find it here; nothing is sent to them but sentences.
    _work = decoder, translate
    fork = multiprocessing.get_context("fork")
    starts = iter(range(1, len(sentences), CHUNK))
    waiting: deque[Future[list[Result]]] = deque()
    with ProcessPoolExecutor(processes, mp_context=fork, initializer=_live_with, initargs=(os.getpid(),)) as pool:
        try:

            def submit(most: int) -> None:
                for start in islice(starts, most):
                    chunk = sentences[start : start + CHUNK]
                    waiting.append(pool.submit(cast(Any, _translate_chunk), start, chunk))

            submit(AHEAD * processes)
            # All processes are forked by now.
            _work = None
            while waiting:
                results = waiting.popleft().result()
                submit(1)
                yield from results
        except BrokenProcessPool as error:
            raise InputError(
                "a process that translated died",
                seen=f"one of {processes}",
                remedy="give it more memory, or translate with one process",
            ) from error
        finally:
            _work = None
            pool.shutdown(wait=False, cancel_futures=True)


def _live_with(parent: int) -> None:
    """Ends this process when its parent is gone: one that was killed could not say so, and this one would wait on."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    # Signals are the parent's business: it finishes what it is at, and then ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=watch, daemon=True).start()


def _translate_chunk(start: int, sentences: Sequence[Sentence]) -> list[object]:
    assert _work is not None
    return [_translated(*_work, start + at, words) for at, words in enumerate(sentences)]


def _translated(decoder: PhraseDecoder, translate: Translate[Result], number: int, words: Sentence) -> Result:
    try:
        return translate(decoder, words)
    except InputError as error:
        raise InputError(
            f"sentence {number + 1}: {error.message}",
            file=error.file,
            line=error.line,
            seen=error.seen,
            expected=error.expected,
            remedy=error.remedy,
        ) from error
