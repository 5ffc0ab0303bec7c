"""What a run is made of when its system comes from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xlate.config.load import load
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, ImportConfig, TrainConfig
from xlate.config.stored import to_yaml
from xlate.jobs.imports.text import say_text
from xlate.jobs.run_text import PreparedText, TextSides
from xlate.jobs.run_weights import made_with
from xlate.report.run_directory import RunDirectory
from xlate.scoring.weights import WEIGHTS_FILE, Weights, save_weights
from xlate.work.stages import file_hash


@dataclass(frozen=True)
class ImportedSystem:
    """A system that was read whole, before anything of its run is written.

    Attributes:
        file: its configuration as it came.
        model: what it is here.
        decoder: its search settings.
        set_name: what its weights are called in their file.
        weights: all of them.
        text: how lines become what it translates.
        save: writes what else it consists of into the folder of the run.
        figures: what is told of it.
    """

    file: str
    model: ModelConfig
    decoder: DecoderConfig
    set_name: str
    weights: Weights
    text: TextSides
    save: Callable[[Path], None]
    figures: Mapping[str, Any]

    def write_run(self, config: ImportConfig) -> dict[str, Any]:
        """Makes the run and returns its figures.

        Raises:
            InputError: the folder holds something else.
        """
        trained = load(TrainConfig, "train", ["model=phrase", "work=''"])
        trained = replace(trained, model=self.model, decoder=self.decoder)
        identity: dict[str, Any] = {"imported": self.file, "ini": file_hash(self.file)}
        if config.filter is not None:
            identity["filter"] = file_hash(config.filter)
        if isinstance(self.text, PreparedText):
            identity["text"] = self.text.identity
        run = RunDirectory.create(config.out, to_yaml(trained), identity)
        self.save(run.path)
        if isinstance(self.text, PreparedText):
            self.text.save(run.path)
        metadata = {"imported": self.file, **made_with(self.model)}
        save_weights(run.path / WEIGHTS_FILE, {self.set_name: self.weights}, metadata=metadata)
        figures = {"run": str(run.path), **self.figures}
        run.write_summary({"finished": True, **figures})
        say_text(self.text, config)
        return figures
