"""xlate train: work directory → run."""

from __future__ import annotations

from pathlib import Path

from xlate.config.schema import TrainConfig
from xlate.errors import Interrupted

CONFIG = TrainConfig


def run(config: TrainConfig) -> None:
    """Trains a run, or goes on with one that was interrupted; a finished one is left as it is."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from xlate.config.load import load
    from xlate.config.schema import PrepareConfig
    from xlate.recipes.prepare import prepare
    from xlate.recipes.train import train

    folder = Path(config.run) if config.run else Path("runs") / Path(config.work).name
    if HydraConfig.initialized() and HydraConfig.get().mode is RunMode.MULTIRUN:
        folder = Path(config.run or HydraConfig.get().sweep.dir) / HydraConfig.get().sweep.subdir
    if config.work == "work/demo" and not Path(config.work).exists():
        prepare(load(PrepareConfig, "prepare", ["work=work/demo"]))
    outcome = train(config, folder)
    if outcome.interrupted is not None:
        raise Interrupted(f"stopped by a signal; the same command goes on from {folder}", 128 + outcome.interrupted)
    print(folder)
