"""Fields of schemas: each holds its default and says in words what it is."""

from __future__ import annotations

import copy
from dataclasses import field
from typing import Any

from omegaconf import MISSING

# In the metadata of a field: what runs made before there was this key did.
BEFORE = "before"


def key(words: str, default: Any = MISSING, *, before: Any = MISSING) -> Any:
    """A field of a schema with its default, which must be given when there is none.

    Args:
        words: what it is.
        default: its value where none is given.
        before: what runs did that were made before there was the key, where that is not the default.
    """
    said = {"words": words} if before == MISSING else {"words": words, BEFORE: before}
    if isinstance(default, list | dict) or hasattr(default, "__dataclass_fields__"):
        return field(default_factory=lambda: copy.deepcopy(default), metadata=said)
    return field(default=default, metadata=said)
