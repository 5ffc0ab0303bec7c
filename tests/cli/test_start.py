"""What a command imports before it works: nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401
from xlate import __version__

HEAVY = ("torch", "sacrebleu", "tensorboard", "pandas", "matplotlib", "scipy", "nltk", "thot")
PROGRAM = """
import sys
from xlate.cli.main import main
status = main(sys.argv[2:])
print(sorted(set(sys.argv[1].split(",")) & sys.modules.keys()), file=sys.stderr)
sys.exit(status)
"""


def imported(arguments: list[str], watched: tuple[str, ...], given: str = "") -> str:
    """Which of some modules a command has imported when it ends."""
    program = [sys.executable, "-c", PROGRAM, ",".join(watched), *arguments]
    done = subprocess.run(program, input=given, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--version"], ["completion", "fish"]])
def test_the_usage_needs_next_to_nothing(arguments: list[str]) -> None:
    assert imported(arguments, (*HEAVY, "numba", "hydra", "numpy", "rich", "sacremoses")) == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["train", "model=phrase", "--help"], ["prepare", "--cfg", "job"], ["--complete", "xlate train device="]],
)
def test_help_and_configuration_need_no_models(arguments: list[str]) -> None:
    assert imported(arguments, (*HEAVY, "sacremoses", "xlate.models", "xlate.jobs.translate")) == "[]"


def test_translating_needs_neither_pytorch_nor_other_systems(run: Path) -> None:  # noqa: F811
    others = ("xlate.models.hierarchical", "xlate.models.distortion", "xlate.formats.lattice", "rich")
    assert imported(["translate", f"run={run}"], (*HEAVY, *others), "a b\n") == "[]"


def test_translating_with_phrases_needs_nothing_of_training(phrase_run: Path) -> None:  # noqa: F811
    training = ("xlate.models.context.classifiers", "xlate.models.tuned", "xlate.candidates.lists")
    others = (*HEAVY, *training, "xlate.phrases.blocks", "rich")
    assert imported(["translate", f"run={phrase_run}"], others, "a b\n") == "[]"


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "xlate", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"xlate {__version__}\n")
