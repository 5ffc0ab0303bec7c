"""Translation graphs of lines as files that other programs read."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from xlate.errors import InputError
from xlate.text.folders import claim_folder

if TYPE_CHECKING:
    from xlate.models.system import AnySystem

log = logging.getLogger(__name__)
KINDS = ("fst", "slf")
# Says that a folder's files are lattices of ours.
MARK = "xlate-lattices.json"


class LatticeFiles:
    """Writes one file a line, N.fst or N.slf counted from 0; with OpenFst also the symbols `words.txt`, at the end.

    Raises:
        InputError: no such format, or a folder that is not ours.
    """

    def __init__(self, folder: str | Path, kind: str, system: AnySystem) -> None:
        if kind not in KINDS:
            raise InputError("no such lattice format", seen=kind, expected=", ".join(KINDS))
        self.folder, self.kind, self.system = Path(folder), kind, system
        self.words: set[str] = set()
        claim_folder(self.folder, "a set of lattices", MARK, "name another folder with lattice_out=…")

    def write(self, number: int, source: list[str]) -> None:
        """The lattice of one tokenised line; a line without words has none, nor has one translated in pieces."""
        from xlate.formats.lattice import write_fst, write_slf
        from xlate.search.lattice_words import spelled_out

        if not source:
            return
        most = self.system.search.max_words
        if len(source) > most:
            log.warning("line %d: %d words, more than decoder.max_words=%d: no lattice", number + 1, len(source), most)
            return
        arcs, words = self.system.plain_lattice(source)
        lattice = spelled_out(arcs.graph, arcs.score_A, words)
        path = self.folder / f"{number}.{self.kind}"
        if self.kind == "slf":
            write_slf(path, lattice, str(number))
            return
        write_fst(path, lattice)
        self.words.update(lattice.words)

    def close(self) -> None:
        """Writes the symbols of all lines, which fstcompile needs."""
        from xlate.formats.lattice import write_symbols

        if self.kind == "fst":
            write_symbols(self.folder / "words.txt", self.words)
