"""The files that the configuration of a system names."""

from __future__ import annotations

import os
from pathlib import Path


def file_beside(configuration: Path, named: str) -> Path | None:
    """A file by its name: relative to the folder of the configuration, or only its last part there; None for no file.

    Other decoders look from where they are started, so configurations that are moved keep names with other folders.
    """
    if not named:
        return None
    folder = configuration.parent
    # Says no of a name that no file can have, too.
    return next((path for path in (folder / named, folder / Path(named).name) if os.path.isfile(path)), None)
