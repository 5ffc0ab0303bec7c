"""Runs commands where the file system refuses to write: python -m tests.cli.refusing FOLDER HOW COMMAND…

HOW is `full`, `read-only` or `limit`; a mount lives in a namespace of this process alone. COMMAND… is a JSON list of
argument lists; for each the exit status is printed, as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from xlate.cli.main import main

UNABLE = 77
LIMIT = 100


def refuse(folder: Path, how: str) -> None:
    """Makes a folder one that nothing can be written into."""
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
        return
    options = "size=32k" if how == "full" else "ro"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False).returncode:
        sys.exit(UNABLE)
    if how == "full":
        (folder / "empty").touch()
        with (folder / "filling").open("wb", buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(4096))
            except OSError:
                pass


if __name__ == "__main__":
    refuse(Path(sys.argv[1]), sys.argv[2])
    before = sorted(os.listdir(sys.argv[1]))
    statuses = [main(arguments) for arguments in json.loads(sys.argv[3])]
    print(json.dumps([statuses, before, sorted(os.listdir(sys.argv[1]))]))
