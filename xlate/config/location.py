"""Where the configuration files are, installed or in a checkout."""

from __future__ import annotations

from pathlib import Path

from xlate.errors import InputError


def conf_folder() -> Path:
    """The folder of Hydra's configuration groups: inside the installed package, else beside it in a checkout.

    Raises:
        InputError: neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if folder.is_dir():
            return folder
    raise InputError(
        "the configuration folder is missing",
        file=package / "conf",
        expected="conf/ inside the installed package or beside it",
        remedy="install xlate again",
    )
