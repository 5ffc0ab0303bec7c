"""xlate import moses=MOSES.INI|grammar=JOSHUA.CONFIG|grammar=CDEC.INI out=RUN."""

from __future__ import annotations

import json

from xlate.config.schema import ImportConfig

CONFIG = ImportConfig


def run(config: ImportConfig) -> None:
    """Makes a run of a system and prints its figures as JSON."""
    from xlate.jobs.imports import import_system

    print(json.dumps(import_system(config), indent=2, ensure_ascii=False))
