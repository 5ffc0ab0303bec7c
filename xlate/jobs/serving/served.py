"""A run that answers requests, one at a time."""

from __future__ import annotations

import threading
from functools import cached_property
from http import HTTPStatus
from pathlib import Path

from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.inspect.fired import FiredFeatures
from xlate.jobs.packs.archive import unpacked
from xlate.jobs.serving.answers import Json, explained, number
from xlate.jobs.serving.requests import Limits, Refused, Request
from xlate.jobs.translate import Translation, Translator, line_tokens


class ServedRun:
    """A run's translator, which several threads may ask.

    A system keeps what it ranked for the sentences before, so one sentence is decoded after the other.

    Args:
        folder: the run.
        limits: what may be asked for.
        work: its work directory, if the user has named it; near: one that may be it.

    Raises:
        InputError: the run is not finished, or translates nothing.
    """

    def __init__(self, folder: str | Path, limits: Limits, work: str | None = None, near: str | None = None) -> None:
        self.folder = unpacked(Path(folder))
        self.name = self.folder.resolve().name
        self.limits = limits
        config = config_of_run(self.folder)
        self.kind = config.model.name
        self._translator = Translator.of_run(config, self.folder, given=work, near=near)
        self._asked = threading.Lock()

    def answer(self, request: Request) -> Json:
        """The translation, its score, the n-best list, and, when asked, how it came about.

        Raises:
            Refused: a sentence that is too long, or one that the run cannot take apart.
        """
        with self._asked:
            try:
                self._check_words(request.text)
                translation = self._of(request.nbest).translate_line(request.text)
            except InputError as error:
                raise Refused.of(error) from error
            best = translation.derivations[0]
            answer: Json = {"run": self.name, "translation": translation.text, "score": number(best.score)}
            answer["unknown"] = best.copied
            if request.nbest > 1:
                answer["nbest"] = self._listed(translation, request.nbest)
            if request.explain:
                answer |= explained(translation, self._fired)
            return answer

    def _check_words(self, text: str) -> None:
        words = len(line_tokens(self._translator.text, text, 0))
        if words > self.limits.words:
            message, expected = "the sentence is too long", f"at most {self.limits.words} words"
            raise Refused(HTTPStatus.BAD_REQUEST, message, seen=f"{words} words", expected=expected)

    def _of(self, nbest: int) -> Translator:
        return self._translator if nbest == 1 else self._listing

    @cached_property
    def _listing(self) -> Translator:
        """The same run with the largest lists that may be asked for; what it has ranked is kept for the next list."""
        system = self._translator.system.with_search(nbest=self.limits.nbest, distinct=True)
        return Translator(self._translator.text, system)

    @cached_property
    def _fired(self) -> FiredFeatures:
        return FiredFeatures(self._translator.system)

    def _listed(self, translation: Translation, nbest: int) -> list[Json]:
        text = self._translator.text
        return [
            {"translation": text.target_text(list(derivation.words)), "score": number(derivation.score)}
            for derivation in translation.derivations[:nbest]
        ]


class ServedRuns:
    """A run, and maybe another one beside it for comparison."""

    def __init__(self, run: ServedRun, other: ServedRun | None = None) -> None:
        self.run = run
        self.other = other

    def answer(self, request: Request) -> Json:
        """What the run says; when it is asked to explain, also what the other one says.

        Raises:
            Refused: as `ServedRun.answer`.
        """
        answer = self.run.answer(request)
        if request.explain and self.other is not None:
            answer["other"] = self.other.answer(request)
        return answer

    def described(self) -> list[Json]:
        """The runs with the kinds of their models."""
        runs = [self.run] if self.other is None else [self.run, self.other]
        return [{"run": run.name, "model": run.kind} for run in runs]
