"""What makes a run this run and no other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

# Settings that change where a run lies, how it talks or how it is scored, not what is trained.
VOLATILE = ("run", "checkpoint_seconds", "dev_every", "measures", "debug")
ABSENT = "nothing"


def plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The identity as JSON gives it back, without the volatile keys."""
    kept = {key: value for key, value in identity.items() if key not in VOLATILE}
    loaded: dict[str, Any] = json.loads(json.dumps(kept, default=str))
    return loaded


def identity_hash(identity: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits that equal identities share, whatever the order of their keys."""
    text = json.dumps(plain(identity), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as one level with dotted keys.

    Example: `{"loss": {"eta": 0.1}}` becomes `{"loss.eta": 0.1}`.
    """
    held: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            held.update(flat(value, f"{prefix}{key}."))
        else:
            held[f"{prefix}{key}"] = value
    return held


def differing_keys(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The dotted keys in which two settings differ, with both values; `ABSENT` where one has none."""
    old, new = flat(before), flat(now)
    keys = [*old, *(key for key in new if key not in old)]
    pairs = [(key, old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys]
    return [(key, there, here) for key, there, here in pairs if there != here]
