"""Fields of schemas: each holds its default and says in words what it is."""

from __future__ import annotations

import copy
from dataclasses import field
from typing import Any

# What Hydra writes where a value must be given.
MISSING: Any = "???"


def key(words: str, default: Any = MISSING) -> Any:
    """A field of a schema with its default, which must be given when there is none.

    Args:
        words: what it is.
        default: its value where none is given.
    """
    if isinstance(default, list | dict) or hasattr(default, "__dataclass_fields__"):
        return field(default_factory=lambda: copy.deepcopy(default), metadata={"words": words})
    return field(default=default, metadata={"words": words})
