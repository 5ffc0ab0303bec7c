"""xlate export run=RUN out=DIR."""

from __future__ import annotations

import json

from xlate.config.schema import ExportConfig

CONFIG = ExportConfig


def run(config: ExportConfig) -> None:
    """Writes a run of the phrase model as a Moses system and prints what was written, as JSON."""
    from xlate.jobs.moses_export import export_moses

    print(json.dumps(export_moses(config), indent=2, ensure_ascii=False))
