"""xlate translate: a run's weights at work."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from xlate.config.schema import TrainConfig, TranslateConfig
from xlate.config.stored import read_config
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.jobs import phrase_models
from xlate.jobs.models import decoder_model, make_decoder
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import weights_of
from xlate.jobs.train.sparse_models import unpacked_weights
from xlate.models.block.decoder import BlockDecoder
from xlate.models.block.derivation import Derivation
from xlate.models.block.explain import explain
from xlate.models.block.options import COPIED
from xlate.models.block.text import format_nbest
from xlate.models.distortion.decoder import DistortionDecoder
from xlate.models.phrase.decoder import PhraseDecoder, PhraseDerivation
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.parallel import each_arriving
from xlate.models.phrase.sentence_tables import SentenceTables
from xlate.models.phrase.target import force_target
from xlate.models.phrase.text import explain_phrases, phrase_nbest_line
from xlate.progress import track
from xlate.scoring.weights import WeightsFile
from xlate.text.arriving import Batches, KnownBatches
from xlate.text.cutting import cut
from xlate.text.tokens import split_tokens

log = logging.getLogger(__name__)

# The share of unknown words above which a text is hardly what the run was trained for.
MOST_UNKNOWN = 1 / 3
AnyDecoder = BlockDecoder | DistortionDecoder | PhraseDecoder
AnyDerivation = Derivation | PhraseDerivation


@dataclass(frozen=True)
class Translation:
    """One translated line: the text, the tokens it was made from, and the derivations behind it, best first.

    `model` is what derivations of the phrase model are numbered by.
    """

    number: int
    source: list[str]
    text: str
    derivations: Sequence[AnyDerivation]
    explanation: str = ""
    model: PhraseModel | None = None


class TextSides(Protocol):
    """How lines become tokens and tokens lines."""

    def source_tokens(self, line: str) -> list[str]:
        """The tokens of a source line."""

    def target_tokens(self, line: str) -> list[str]:
        """The tokens of a target line."""

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:
        """The output line of target tokens."""


class TokenizedText:
    """Lines that are tokens between blanks on both sides, as an imported system has them."""

    def source_tokens(self, line: str) -> list[str]:
        """The tokens between blanks."""
        return split_tokens(line)

    def target_tokens(self, line: str) -> list[str]:
        """The tokens between blanks."""
        return split_tokens(line)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:  # noqa: ARG002
        """The tokens with blanks between them."""
        return " ".join(tokens)


class _ArrivingTokens:
    """The tokens of lines as they come; each sentence also waits for its translation."""

    def __init__(self, text: TextSides, batches: Batches[str]) -> None:
        self.text = text
        self.batches = batches
        self.waiting: deque[list[str]] = deque()

    def __iter__(self) -> Iterator[list[list[str]]]:
        for batch in self.batches:
            tokens = [self.text.source_tokens(line) for line in batch]
            self.waiting.extend(tokens)
            yield tokens

    def ready(self) -> bool:
        return self.batches.ready()


class Translator:
    """A run's model and a decoder for it."""

    def __init__(self, text: TextSides, decoder: AnyDecoder, *, detokenize: bool = True, trace: bool = False) -> None:
        self.text = text
        self.decoder = decoder
        self.detokenize = detokenize
        self.trace = trace
        self.words = self.unknown_words = 0

    @classmethod
    def open(cls, config: TranslateConfig) -> Translator:
        """Loads what a configuration names.

        Raises:
            InputError: no finished run, or its work directory is gone or was made anew from other data.
        """
        run = Path(config.run)
        trained = read_config(run / "config.yaml", TrainConfig)
        trained.decoder = with_settings(trained.decoder, config.decoder, "decoder")
        made = cls.of_run(trained, run, nbest=config.nbest, distinct=config.distinct, fast=config.fast)
        return made.with_output(config.detokenize, config.trace)

    @classmethod
    def of_run(
        cls, trained: TrainConfig, run: Path, *, nbest: int = 1, distinct: bool = True, fast: bool = True
    ) -> Translator:
        """The translator of a run's weights under the settings it was trained with.

        Raises:
            InputError: as `open` does.
        """
        weights = weights_of(run, trained)
        search: dict[str, Any] = {"nbest": nbest, "distinct": distinct, "fast": fast}
        work = _checked_work(trained, run, weights) if trained.work else None
        if trained.model.kind == phrase_models.KIND:
            model = phrase_models.open_phrase_model(run, trained)
            phrase_weights = unpacked_weights(weights, phrase_models.SET, model.sparse, run)
            phrase = phrase_models.phrase_decoder(model, phrase_weights, trained.decoder, **search)
            return cls(work or TokenizedText(), phrase)
        assert work is not None
        return cls(work, make_decoder(decoder_model(work, weights, trained.model), trained.decoder, **search))

    def with_output(self, detokenize: bool, trace: bool) -> Translator:
        """The same translator, its lines detokenised or not, explained or not."""
        return Translator(self.text, self.decoder, detokenize=detokenize, trace=trace)

    def translate(self, lines: Sequence[str], targets: Sequence[str] | None = None) -> Iterator[Translation]:
        """Translates lines one by one, in order; an empty line gives an empty line.

        With `targets`, forced decoding of the phrase model: the line is translated into its target, or into nothing
        when no derivation has its words.

        Raises:
            InputError: another number of targets than lines, or another model than the phrase model.
        """
        if targets is None and isinstance(self.decoder, PhraseDecoder):
            return self.translate_side_by_side(lines, processes=1)
        return self._each(lines, targets, lambda _: self)

    def _each(
        self, lines: Sequence[str], targets: Sequence[str] | None, translator_of: Callable[[int], Translator]
    ) -> Iterator[Translation]:
        """Translates or forces every line with the translator of its number."""
        if targets is None:
            yield from self._one_by_one(lines, translator_of)
            return
        if len(lines) != len(targets):
            seen = f"{len(lines)} lines, {len(targets)} targets"
            raise InputError("every line needs a target", seen=seen, expected="as many targets as lines")
        unreached = 0
        for number, (line, target) in enumerate(track(list(zip(lines, targets, strict=True)), "forcing")):
            translation = translator_of(number).force_line(line, target, number)
            unreached += not translation.derivations
            yield self._counted(translation)
        if unreached:
            log.warning("%d of %d targets cannot be reached", unreached, len(lines))

    def _one_by_one(self, lines: Iterable[str], translator_of: Callable[[int], Translator]) -> Iterator[Translation]:
        for number, line in enumerate(track(lines, "translating")):
            yield self._counted(translator_of(number).translate_line(line, number))

    def translate_side_by_side(self, lines: Sequence[str], processes: int) -> Iterator[Translation]:
        """Translates lines in so many processes, in order.

        Raises:
            InputError: another model than the phrase model; a process that died.
        """
        return self._by_processes(KnownBatches([lines]), processes, len(lines))

    def translate_arriving(self, batches: Batches[str], processes: int = 1) -> Iterator[Translation]:
        """Translates lines as they come, in order; what was translated is not kept, and little is read ahead.

        Raises:
            InputError: as `translate_side_by_side`, where there is more than one process.
        """
        if processes == 1 and not isinstance(self.decoder, PhraseDecoder):
            return self._one_by_one((line for batch in batches for line in batch), lambda _: self)
        return self._by_processes(batches, processes, None)

    def _by_processes(self, batches: Batches[str], processes: int, total: int | None) -> Iterator[Translation]:
        decoder = self._phrase_decoder("translated in processes")
        sources = _ArrivingTokens(self.text, batches)
        found = each_arriving(decoder, PhraseDecoder.translate, sources, processes)
        for number, derivations in enumerate(track(found, "translating", total=total)):
            source = sources.waiting.popleft()
            self._say_if_cut(number, source)
            yield self._counted(self._translation(number, source, derivations))

    def translate_with_tables(
        self, lines: Sequence[str], folder: Path, targets: Sequence[str] | None = None
    ) -> Iterator[Translation]:
        """Translates every line with the phrase table of its number in a folder; `targets` as in `translate`.

        Raises:
            InputError: another model than the phrase model, one with sparse features, a table that is missing, or
                another number of targets than lines.
        """
        tables = SentenceTables(self._phrase_decoder("given tables of sentences"), folder, len(lines))

        def translator_of(number: int) -> Translator:
            return Translator(self.text, tables.of(number), detokenize=self.detokenize, trace=self.trace)

        return self._each(lines, targets, translator_of)

    def _phrase_decoder(self, done: str) -> PhraseDecoder:
        if not isinstance(self.decoder, PhraseDecoder):
            seen = type(self.decoder).__name__
            raise InputError(f"only the phrase model is {done}", seen=seen, expected="model=phrase")
        return self.decoder

    def force_line(self, line: str, target: str, number: int = 0) -> Translation:
        """The best derivation of a line's given translation; one without derivations when there is none."""
        decoder = self._phrase_decoder("forced to a target")
        source = self.text.source_tokens(line)
        most = decoder.search.max_words
        if len(source) > most:
            log.warning("line %d: %d words, more than decoder.max_words=%d: not forced", number + 1, len(source), most)
            return Translation(number, source, "", [], "")
        found = force_target(decoder, source, self.text.target_tokens(target))
        if found is None:
            return Translation(number, source, "", [], "")
        return self._translation(number, source, [found])

    def translate_line(self, line: str, number: int = 0) -> Translation:
        """Translates one line."""
        source = self.text.source_tokens(line)
        self._say_if_cut(number, source)
        return self._translation(number, source, self.decoder.translate(source))

    def _say_if_cut(self, number: int, source: list[str]) -> None:
        search = self.decoder.search
        if len(source) <= search.max_words:
            return
        lists = "" if search.nbest == 1 else "; its n-best list has the best sums of those of the pieces"
        seen = number + 1, len(source), search.max_words, len(cut(source, search.max_words)), lists
        log.warning("line %d: %d words, more than decoder.max_words=%d: translated in %d pieces%s", *seen)

    def _counted(self, translation: Translation) -> Translation:
        """The same; its words, and those that were copied because nothing translates them, are added up."""
        if translation.derivations:
            self.words += len(translation.source)
            self.unknown_words += _copied(translation.derivations[0])
        return translation

    def say_unknown(self) -> None:
        """How many words of what was translated were unknown; a warning when they are more than a third."""
        if not self.words:
            return
        share = self.unknown_words / self.words
        counts = self.unknown_words, self.words, 100 * share
        if share <= MOST_UNKNOWN:
            log.info("%d of %d words unknown (%.1f %%), copied as they stand", *counts)
            return
        log.warning(
            "warning: %d of %d words unknown (%.1f %%), copied as they stand: is this text in the language, script, "
            "casing and tokens that the run was trained on?", *counts,
        )  # fmt: skip

    def _translation(self, number: int, source: list[str], derivations: Sequence[AnyDerivation]) -> Translation:
        text = self.text.target_text(list(derivations[0].words), self.detokenize)
        explanation = self._explained(source, derivations[0]) if self.trace else ""
        model = self.decoder.model if isinstance(self.decoder, PhraseDecoder) else None
        return Translation(number, source, text, derivations, explanation, model)

    def nbest_lines(self, translation: Translation) -> Iterator[str]:
        """The derivations of a translation as lines of a Moses n-best list."""
        for derivation in translation.derivations:
            if isinstance(derivation, Derivation):
                yield format_nbest(translation.number, derivation)
            else:
                assert translation.model is not None
                yield phrase_nbest_line(translation.number, derivation, translation.model)

    def _explained(self, source: list[str], best: AnyDerivation) -> str:
        if isinstance(self.decoder, PhraseDecoder):
            assert isinstance(best, PhraseDerivation)
            return explain_phrases(self.decoder.model, self.decoder.weights_D, source, best)
        assert isinstance(best, Derivation)
        return explain(self.decoder.model, source, best)


def _copied(derivation: AnyDerivation) -> int:
    """The source words that stand for themselves."""
    if isinstance(derivation, PhraseDerivation):
        return sum(step.pair == COPIED for step in derivation.steps)
    return sum(step.block == COPIED for step in derivation.blocks)


def _checked_work(trained: TrainConfig, run: Path, weights: WeightsFile) -> WorkDirectory:
    work = WorkDirectory(Path(trained.work)).check()
    if weights.metadata.get("work_identity") != work.identity:
        raise InputError(
            "the work directory is not the one this run was trained on",
            file=work.path,
            seen="other data or settings",
            expected=f"what {run} was trained on",
            remedy=f"prepare it as before, or train {run} anew under another name",
        )
    return work
