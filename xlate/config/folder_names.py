"""Names of folders from settings: whatever a value holds, it names one folder and does not lead out of another."""

from __future__ import annotations

import hashlib
import os
import re

# Rows of papers' tables keep their folder: PAPER/TABLE-rowN, no part of which begins with a dot.
_EXPERIMENT = re.compile(r"((?:^|,)\+{0,2}experiment=\w[\w.-]*(?:/\w[\w.-]*)+(?=,|$))")
SEPARATOR = "+"
LONGEST = 200


def folder_name(settings: str) -> str:
    """The name of the folder of a job from its settings, `key=value,key=value`.

    It is that text, but for values with separators: `+` stands for each, and a mark behind the name tells it from
    others that would be spelled alike. So is a name shortened that no file system takes. The name of an experiment is
    a folder in a folder, as it is in conf/.

    Example:
        >>> folder_name("loss=pro,seed=1")
        'loss=pro,seed=1'
        >>> folder_name("base=../x")
        'base=..+x~e09b6dc0'
    """
    parts = _EXPERIMENT.split(settings)
    kept = [part if place % 2 else _without_separators(part) for place, part in enumerate(parts)]
    name = "".join(kept)
    longest = max(len(folder.encode()) for folder in name.split(os.sep))
    if longest > LONGEST:
        name = _without_separators(name).encode()[:LONGEST].decode(errors="ignore")
    mark = hashlib.sha256(settings.encode()).hexdigest()[:8]
    return name if name == settings else f"{name}~{mark}"


def _without_separators(text: str) -> str:
    for separator in filter(None, (os.sep, os.altsep)):
        text = text.replace(separator, SEPARATOR)
    return text
