"""Kinds of models whose weights are not tuned, and those among them that translate nothing by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NoReturn

from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.errors import InputError
from xlate.jobs.systems.kind import Asked, Kind
from xlate.jobs.systems.to_tune import Saved, ToTune
from xlate.models.system import AnySystem
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory


class NotTuned(Kind):
    """Refuses whatever would change its weights as those of a decoder are changed.

    Attributes:
        without: what is said of such a run.
        remedy: the command that is of use.
    """

    without: ClassVar[str]
    remedy: ClassVar[str]

    def check_base(self, config: TrainConfig, base: Path) -> None:  # noqa: ARG002
        """Raises InputError."""
        self._refuse(base)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:  # noqa: ARG002
        """Raises InputError."""
        self._refuse(None)

    def check_lists(self, config: TrainConfig) -> None:  # noqa: ARG002
        """Raises InputError."""
        self._refuse(None)

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> NoReturn:  # noqa: ARG002
        """Raises InputError."""
        self._refuse(base)

    def _refuse(self, run: Path | None) -> NoReturn:
        raise InputError(
            self.without,
            file=run,
            seen=f"model.kind={self.name}",
            expected="a run of another model",
            remedy=self.remedy,
        )


class WithoutDecoder(NotTuned):
    """Refuses whatever needs a decoder, too."""

    def open(
        self,
        run: Path,
        config: TrainConfig,  # noqa: ARG002
        weights: WeightsFile,  # noqa: ARG002
        work: WorkDirectory | None,  # noqa: ARG002
        asked: Asked,  # noqa: ARG002
    ) -> AnySystem:
        """Raises InputError."""
        self._refuse(run)

    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> NoReturn:  # noqa: ARG002, B008
        """Raises InputError."""
        self._refuse(None)

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:  # noqa: ARG002
        """Raises InputError."""
        self._refuse(None)
