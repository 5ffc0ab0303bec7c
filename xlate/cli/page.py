"""After a sweep over the rows of a paper's table: the table goes into its page."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback

log = logging.getLogger(__name__)


class PaperPages(Callback):
    """Hydra calls this when all jobs of a sweep have run."""

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        """Writes the pages of all finished rows in the sweep's folder; other sweeps have none."""
        from xlate.errors import InputError
        from xlate.jobs.paper_page import write_pages

        try:
            pages = write_pages(Path(config.hydra.sweep.dir))
        except InputError as error:  # a sweep whose every job failed has no runs
            log.info("no table written: %s", error)
            return
        for page in pages:
            log.info("%s", page)
