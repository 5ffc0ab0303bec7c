"""xlate translate: a run's weights at work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from xlate.config.schema import TrainConfig, TranslateConfig
from xlate.config.stored import read_config
from xlate.decode.block import BlockDecoder
from xlate.decode.derivation import Derivation
from xlate.decode.distortion import DistortionDecoder
from xlate.decode.explain import explain
from xlate.decode.nbest import format_nbest
from xlate.errors import InputError
from xlate.progress import track
from xlate.recipes.models import decoder_model, make_decoder
from xlate.recipes.work import WorkDirectory
from xlate.scoring.weights import WeightsFile, load_weights
from xlate.text.lines import write_lines


@dataclass(frozen=True)
class Translation:
    """One translated line: the text, the tokens it was made from, and the derivations behind it, best first."""

    number: int
    source: list[str]
    text: str
    derivations: list[Derivation]
    explanation: str = ""


class Translator:
    """A run's model and a decoder for it."""

    def __init__(
        self,
        work: WorkDirectory,
        decoder: BlockDecoder | DistortionDecoder,
        *,
        detokenize: bool = True,
        trace: bool = False,
    ) -> None:
        self.work = work
        self.decoder = decoder
        self.detokenize = detokenize
        self.trace = trace

    @classmethod
    def open(cls, config: TranslateConfig) -> Translator:
        """Loads what a configuration names.

        Raises:
            InputError: no finished run, or its work directory is gone or was made anew from other data.
        """
        run = Path(config.run)
        trained = read_config(run / "config.yaml", TrainConfig)
        weights = weights_of(run)
        work = WorkDirectory(Path(trained.work)).check()
        if weights.metadata.get("work_identity") != work.identity:
            raise InputError(
                "the work directory is not the one this run was trained on",
                file=work.path,
                seen="other data or settings",
                expected=f"what {run} was trained on",
                remedy=f"prepare it as before, or train {run} anew under another name",
            )
        changed = {f.name: getattr(config.decoder, f.name) for f in fields(config.decoder)}
        decoder = replace(trained.decoder, **{k: v for k, v in changed.items() if v is not None})
        return cls(
            work,
            make_decoder(
                decoder_model(work, weights, trained.model),
                decoder,
                nbest=config.nbest,
                distinct=config.distinct,
                fast=config.fast,
            ),
            detokenize=config.detokenize,
            trace=config.trace,
        )

    def translate(self, lines: Sequence[str]) -> Iterator[Translation]:
        """Translates lines one by one, in order; an empty line gives an empty line."""
        for number, line in enumerate(track(lines, "translating")):
            yield self.translate_line(line, number)

    def translate_line(self, line: str, number: int = 0) -> Translation:
        """Translates one line."""
        source = self.work.source_tokens(line)
        derivations = self.decoder.translate(source)
        best = derivations[0]
        text = self.work.target_text(list(best.words), self.detokenize)
        words = explain(self.decoder.model, source, best) if self.trace else ""
        return Translation(number, source, text, derivations, words)


def write_nbest(path: str | Path, translations: Iterable[Translation]) -> None:
    """Writes the derivations of all translations as a Moses n-best list."""
    write_lines(path, (format_nbest(t.number, d) for t in translations for d in t.derivations))


def weights_of(run: Path) -> WeightsFile:
    path = run / "weights.safetensors"
    if not path.exists():
        raise InputError(
            "the run has no weights yet",
            file=path,
            seen="no such file",
            expected="the weights of a finished run",
            remedy=f"run xlate train … run={run} to its end",
        )
    return load_weights(path)
