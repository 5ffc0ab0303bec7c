"""Translating from Python: `xlate.Translator`, a finished run that translates, lists and explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, overload

from xlate.config.load import load
from xlate.config.schema import TranslateConfig
from xlate.errors import InputError
from xlate.jobs import translate
from xlate.models.derivation import COPIED, Span
from xlate.models.system import AnyDerivation, AnySystem
from xlate.search.processes import HeldProcesses
from xlate.text.terms import HARD, TERM

# Not any sequence of strings: a string is one, too.
Several = list[str] | tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """A block, phrase pair or rule of a derivation.

    Attributes:
        source_spans: half-open, in words; more than one if a rule has gaps.
        target_span: half-open, in words of the translation.
        source, target: the words of these spans.
        copied: whether the word was copied because nothing translates it.
        term: whether the translation is that of a glossary.
    """

    source_spans: tuple[Span, ...]
    target_span: Span
    source: tuple[str, ...]
    target: tuple[str, ...]
    copied: bool
    term: bool


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: the readable, detokenised translation.
        words: the tokens that it was made from.
        score: the sum of weight times value over `features`; higher is better.
        features: the value of each float feature, including sums of sparse ones, by name.
        units: the parts of the translation, in target order.
    """

    text: str
    words: tuple[str, ...]
    score: float
    features: dict[str, float]
    units: tuple[Unit, ...]


class Translator:
    """A finished run that translates; load it with `Translator.load`.

    With several processes, use it in a `with` statement, as they run until it is closed.

    Example:
        >>> import xlate
        >>> translator = xlate.Translator.load("runs/demo")
        >>> isinstance(translator.translate("Nirka no holdo va bolko ast."), str)
        True
        >>> with xlate.Translator.load("runs/demo", processes=2) as translator:
        ...     len(translator.translate(["Nirka no holdo va bolko ast.", "", "Gonban va fuspan ri pikum nu."]))
        3
    """

    def __init__(self, opened: translate.Translator, processes: int = 1) -> None:
        self._opened = opened
        self._held = HeldProcesses(_Searches(opened.system), _Searches.translate, processes)

    @classmethod
    def load(
        cls,
        run: str | Path,
        *,
        work: str | Path | None = None,
        processes: int = 1,
        detokenize: bool = True,
        glossary: str | Path | Mapping[str, str] | None = None,
        terms: str = HARD,
        **search: int | float | str | bool,
    ) -> Self:
        """The translator of a run of any system.

        Args:
            run: the folder that `xlate train` or `xlate import` wrote, or what `xlate pack` made of it.
            work: the work directory, if it is neither where it was in training nor in the same place seen from the run.
            processes: how many processes translate lists of sentences in parallel; they are forked when first needed,
                and run until `close`.
            detokenize: whether translations become plain text; otherwise they are tokens separated by blanks.
            glossary: translations of source phrases, or a file of them: what `xlate translate glossary=…` takes.
            terms: `hard`: a term has only the translation of the glossary; `soft`: it competes with others.
            search: decoder settings that replace those the run was trained with: `beam=50`, `pop_limit=500`,
                `max_words=80` and others that `docs/configuration.md` lists under `decoder`.

        Raises:
            InputError: there is no finished run, its model does not translate, its work directory is gone or was remade
                from other data, a setting is unknown to the decoder or out of range, or a term cannot be used.
        """
        config = load(TranslateConfig, "translate", ["run=run"])
        settings = {**config.decoder, **search}
        given = None if work is None else str(work)
        asked = replace(config, run=str(run), work=given, detokenize=detokenize, decoder=settings)
        opened = translate.Translator.open(asked)
        opened.mark_terms(glossary, terms)
        return cls(opened, processes)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each feature of a `Hypothesis`, by name."""
        system = self._opened.system
        return dict(zip(system.feature_names, system.weights_D.tolist(), strict=True))

    @overload
    def translate(self, text: str) -> str: ...
    @overload
    def translate(self, text: Several) -> list[str]: ...
    def translate(self, text: str | Several) -> str | list[str]:
        """The best translation of a sentence, or of each of several; empty for an empty sentence.

        A sentence with more words than the decoder's `max_words` is translated in pieces.

        Raises:
            InputError: a sentence cannot be split or is too long, or a process died.

        Example:
            >>> import xlate
            >>> xlate.Translator.load("runs/demo").translate(["", " "])
            ['', '']
        """
        if isinstance(text, str):
            return self.translate([text])[0]
        return [self._text(found[0]) for _, found in self._derivations(text, 1, True)]

    @overload
    def nbest(self, text: str, n: int = 10, *, distinct: bool = True) -> list[Hypothesis]: ...
    @overload
    def nbest(self, text: Several, n: int = 10, *, distinct: bool = True) -> list[list[Hypothesis]]: ...
    def nbest(
        self, text: str | Several, n: int = 10, *, distinct: bool = True
    ) -> list[Hypothesis] | list[list[Hypothesis]]:
        """The best translations of a sentence, or of each of several, best first.

        Args:
            text: a sentence, or several.
            n: how many translations at most.
            distinct: whether their words must differ; otherwise several derivations may give the same words.

        Raises:
            InputError: as `translate`; no translation is requested.

        Example:
            >>> import xlate
            >>> translator = xlate.Translator.load("runs/demo")
            >>> best, *others = translator.nbest("Nirka no holdo va bolko ast.", n=5)
            >>> all(one.score <= best.score for one in others)
            True
            >>> total = sum(translator.weights[name] * value for name, value in best.features.items())
            >>> abs(total - best.score) < 1e-3
            True
            >>> best.units[0].target_span[0]
            0
        """
        if n < 1:
            raise InputError("no translation requested", f"n={n}", "1 or more")
        if isinstance(text, str):
            return self.nbest([text], n, distinct=distinct)[0]
        return [[self._hypothesis(one) for one in found] for _, found in self._derivations(text, n, distinct)]

    def explain(self, sentence: str) -> str:
        """Explains the best translation of a sentence: its units, and what each feature adds to its score.

        Raises:
            InputError: as `translate`.

        Example:
            >>> import xlate
            >>> print(xlate.Translator.load("runs/demo").explain("Nirka no holdo."))  # doctest: +ELLIPSIS
            [...
            ...
        """
        words, found = self._derivations([sentence], 1, True)[0]
        return self._opened.system.explain(words, found[0])

    def close(self) -> None:
        """Ends the translator's processes, if any; they are forked again when needed."""
        self._held.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the processes."""
        self.close()

    def _derivations(self, lines: Sequence[str], n: int, distinct: bool) -> list[tuple[list[str], list[AnyDerivation]]]:
        if not isinstance(lines, list | tuple):
            raise InputError("nothing to translate", repr(lines), "a string, or a list or tuple of strings")
        for number, line in enumerate(lines):
            if not isinstance(line, str):
                raise InputError("not a sentence", f"{type(line).__name__} at {number}", "a string")
        tokens = [self._opened.tokens(line, number) for number, line in enumerate(lines)]
        found = self._held.each([(words, n, distinct) for words in tokens])
        return list(zip(tokens, found, strict=True))

    def _text(self, derivation: AnyDerivation) -> str:
        return self._opened.text.target_text(derivation.words, self._opened.detokenize)

    def _hypothesis(self, derivation: AnyDerivation) -> Hypothesis:
        names, values = self._opened.system.feature_names, derivation.features_D.tolist()
        units = tuple(
            Unit(
                step.source_spans,
                span,
                tuple(word for start, end in step.source_spans for word in derivation.source[start:end]),
                step.target_words,
                step.unit == COPIED,
                step.unit <= TERM,
            )
            for step, span in zip(derivation.blocks, derivation.target_spans, strict=True)
        )
        features = dict(zip(names, values, strict=True))
        return Hypothesis(self._text(derivation), tuple(derivation.words), derivation.score, features, units)


# The words of a sentence, the number of translations wanted, and whether their words must differ.
_Asked = tuple[list[str], int, bool]


class _Searches:
    """One system per requested size of list; each prepares a text once."""

    def __init__(self, system: AnySystem) -> None:
        self._given = system
        self._systems: dict[tuple[int, bool], AnySystem] = {}

    def prepare(self, sentences: Sequence[_Asked]) -> None:
        """Prepares the requested systems."""
        for key in {(nbest, distinct) for _, nbest, distinct in sentences}:
            self._system(*key).prepare([words for words, *of in sentences if tuple(of) == key])

    def translate(self, asked: _Asked) -> list[AnyDerivation]:
        """The derivations of a sentence, best first."""
        words, nbest, distinct = asked
        return self._system(nbest, distinct).translate(words)

    def _system(self, nbest: int, distinct: bool) -> AnySystem:
        if (nbest, distinct) not in self._systems:
            self._systems[nbest, distinct] = self._given.with_search(nbest=nbest, distinct=distinct)
        return self._systems[nbest, distinct]
