"""xlate import moses=MOSES.INI out=RUN."""

from __future__ import annotations

import json

from xlate.config.schema import ImportConfig

CONFIG = ImportConfig


def run(config: ImportConfig) -> None:
    """Makes a run of a Moses system and prints its figures as JSON."""
    from xlate.jobs.moses_import import import_moses

    print(json.dumps(import_moses(config), indent=2, ensure_ascii=False))
