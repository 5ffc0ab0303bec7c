"""The model=hierarchical run that a benchmark uses: the one named, or a quick one on the built-in corpus."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from xlate.cli.main import main as xlate


def named_runs() -> list[Path]:
    """The runs named on the command line, or one made in a folder that stays until the process ends."""
    named = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("--")]
    return named or [_made(Path(_FOLDER.name))]


_FOLDER = tempfile.TemporaryDirectory(prefix="xlate-bench-")


def _made(folder: Path) -> Path:
    work, run = folder / "work", folder / "rules"
    size = ["data.generated.train=5000", "data.generated.dev=200", "data.generated.test=300"]
    given = ["model=hierarchical", "loss.tune.rounds=2", "loss.tune.nbest=50"]
    for command in (["prepare", "data=demo", *size, f"work={work}"], ["train", *given, f"work={work}", f"run={run}"]):
        if xlate(command):
            sys.exit(f"xlate {' '.join(command)} failed")
    return run
