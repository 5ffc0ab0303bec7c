"""Translation graphs of lines as files that other programs read."""

from __future__ import annotations

import logging
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.lattice_fst import write_fst, write_symbols
from xlate.formats.lattice_slf import write_slf
from xlate.jobs.translate import AnyDecoder
from xlate.models.block.decoder import BlockDecoder
from xlate.models.block.lattice import translation_lattice
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.lattice import phrase_lattice
from xlate.search.lattice_words import word_lattice
from xlate.text.folders import claim_folder

log = logging.getLogger(__name__)
KINDS = ("fst", "slf")
# Says that a folder's files are lattices of ours.
MARK = "xlate-lattices.json"


class LatticeFiles:
    """Writes one file a line, N.fst or N.slf counted from 0; with OpenFst also the symbols `words.txt`, at the end.

    Raises:
        InputError: no such format, a decoder whose graphs do not become lattices, or a folder that is not ours.
    """

    def __init__(self, folder: str | Path, kind: str, decoder: AnyDecoder) -> None:
        if kind not in KINDS:
            raise InputError("no such lattice format", seen=kind, expected=", ".join(KINDS))
        if not isinstance(decoder, BlockDecoder | PhraseDecoder):
            seen, expected = type(decoder).__name__, "the orientation model or the phrase model"
            raise InputError("lattices are not written of this model", seen=seen, expected=expected)
        self.folder, self.kind, self.decoder = Path(folder), kind, decoder
        self.words: set[str] = set()
        claim_folder(self.folder, "a set of lattices", MARK, "name another folder with lattice_out=…")

    def write(self, number: int, source: list[str]) -> None:
        """The lattice of one tokenised line; a line without words has none, nor has one translated in pieces."""
        if not source:
            return
        most = self.decoder.search.max_words
        if len(source) > most:
            log.warning("line %d: %d words, more than decoder.max_words=%d: no lattice", number + 1, len(source), most)
            return
        if isinstance(self.decoder, PhraseDecoder):
            lattice = phrase_lattice(self.decoder, source)
        else:
            lattice = word_lattice(translation_lattice(self.decoder, source))
        path = self.folder / f"{number}.{self.kind}"
        if self.kind == "slf":
            write_slf(path, lattice, str(number))
            return
        write_fst(path, lattice)
        self.words.update(lattice.words)

    def close(self) -> None:
        """Writes the symbols of all lines, which fstcompile needs."""
        if self.kind == "fst":
            write_symbols(self.folder / "words.txt", self.words)
