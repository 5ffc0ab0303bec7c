"""Rules as tests write them."""

from __future__ import annotations

import re

import numpy as np

from xlate.formats.scfg import Gap, Scfg, ScfgRule


def scfg_of(*rules: str, **columns: list[float]) -> Scfg:
    """Rules such as `X → ne X1 pas | not X1`, where a capital letter and a number are a gap; columns by their names."""

    def side(text: str) -> tuple[str | Gap, ...]:
        return tuple(Gap(s[0], int(s[1])) if re.fullmatch("[A-Z][0-9]", s) else s for s in text.split())

    parts = (re.split(r" → | \| ", rule) for rule in rules)
    made = [ScfgRule(label, side(source), side(target)) for label, source, target in parts]
    return Scfg(made, tuple(columns), np.reshape([*columns.values()], (len(columns), len(made))).T)
