"""How well folds hold copies together."""

from __future__ import annotations

from xlate.array_types import Ints


def parted_copies(group_S: Ints, fold_S: Ints) -> int:
    """In how many folds too many the groups of copies are: 0 if each is in one."""
    groups = group_S.tolist()
    return len(set(zip(groups, fold_S.tolist(), strict=True))) - len(set(groups))
