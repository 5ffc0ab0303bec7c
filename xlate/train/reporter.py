"""Where training sends its figures, and under which names."""

from __future__ import annotations

from typing import Protocol

from xlate.array_types import AnyFloats, Bytes


class Reporter(Protocol):
    """Takes figures as they arise; a step is the number of instances seen."""

    def scalar(self, tag: str, value: float, step: int) -> None:
        """One number."""

    def histogram(self, tag: str, values: AnyFloats, step: int) -> None:
        """The distribution of many numbers."""

    def text(self, tag: str, text: str, step: int) -> None:
        """Words to read, Markdown allowed."""

    def image(self, tag: str, image_HW3: Bytes, step: int) -> None:
        """A picture."""


class NullReporter(Reporter):
    """Says nothing."""
