"""How much a command says on standard error while it works."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass

from xlate.progress import Style, set_style

PLAIN = "%(message)s"
DETAILED = "%(asctime)s %(name)s: %(message)s"


@dataclass(frozen=True)
class Talk:
    """Quiet (`-q`): warnings and errors alone, no progress. Detailed (`-v`): times, and who says it."""

    quiet: bool = False
    detailed: bool = False

    @classmethod
    def of(cls, flags: frozenset[str]) -> Talk:
        """What the flags of a command line ask for."""
        return cls("--quiet" in flags, "--verbose" in flags)

    def begin(self, job: str | None = None) -> None:
        """Makes this process talk so.

        Args:
            job: the job's name where several talk at a time: it stands before each line, and no bars are drawn.
        """
        form = DETAILED if self.detailed else PLAIN
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(form if job is None else f"[{job.replace('%', '%%')}] {form}"))
        root = logging.getLogger()
        for old in [one for one in root.handlers if type(one) is logging.StreamHandler]:
            root.removeHandler(old)
        root.addHandler(handler)
        root.setLevel(logging.WARNING if self.quiet else logging.INFO)
        # Only what is ours; libraries have much to say of themselves.
        logging.getLogger("xlate").setLevel(
            logging.WARNING if self.quiet else logging.DEBUG if self.detailed else logging.INFO
        )
        logging.getLogger("matplotlib").setLevel(logging.WARNING)
        set_style(Style.SILENT if self.quiet else Style.LINES if job is not None else Style.FITTING)
