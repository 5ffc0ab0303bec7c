"""A phrase table for every line of a text, with what phrases score in that line, in Moses's format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from xlate.array_types import Floats
from xlate.config.schema import ExportConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.formats.moses_ini import phrase_feature, reordering_feature
from xlate.formats.moses_table import BAR, escape_bars, needs_escape, numbers_text, pair_lines, spell_phrases
from xlate.formats.sentence_tables import INPUT, marked
from xlate.jobs.run_text import text_of
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.registry import open_system
from xlate.jobs.translate import line_tokens
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel
from xlate.progress import track
from xlate.text.lines import read_lines, write_lines

README, SCRIPT = "README.txt", "translate.sh"
ABOUT = """Phrase tables of single sentences, written by xlate.

N.gz is the table of line N of input.txt, counted from 0, and moses.ini a Moses system with the table of line 0. Its
lines are
  source ||| target ||| p(f|e) lex(f|e) p(e|f) lex(e|f){more} ||| links ||| N(e) N(f) N(f,e) ||| |||
with probabilities, of which Moses takes logarithms. A word that comes again in a line is numbered there (die, then
die@@2), so that phrases have the scores of their place.{reordering}

bash translate.sh runs Moses once for each line, with the table of that line, and prints the translations; MOSES=PROGRAM
names the program. xlate translate run=RUN tables=FOLDER input=TEXT reads the same tables.
"""
PLACES = """

{names} are the probabilities of how far the translation of a phrase stands from its
place, from so many words before it to so many behind. Moses cannot tell where it puts a phrase, so they weigh 0 in
moses.ini; xlate can."""
IN_FILES = "\nreordering.N.gz has the reordering scores of the same phrases."
IN_SCORES = """
The last six scores are those of reordering, in all orientations at once: Moses cannot tell which one a phrase is in,
so they weigh 0 in moses.ini until they are tuned."""
COMMANDS = """#!/usr/bin/env bash
# Translates input.txt with Moses, each line with the phrase table of its number.
set -euo pipefail
cd "$(dirname "$0")"
ini=$(mktemp)
trap 'rm -f "$ini"' EXIT
number=0
while IFS= read -r line; do
  sed -e "s# path=0\\.gz # path=$number.gz #" -e "s#=reordering\\.0\\.gz#=reordering.$number.gz#" moses.ini >"$ini"
  printf '%s\\n' "$line" | "${MOSES:-moses}" -f "$ini"
  number=$((number + 1))
done <input.txt
"""
Scores = dict[tuple[str, int], Floats]


@dataclass(frozen=True)
class ExportedTables:
    """The tables of lines.

    Attributes:
        decoder: whose options are written: its limit of options has been kept to, so Moses needs none.
        lines: the words of each line.
        escape: whether bars are escaped.
        inside: whether reordering scores stand in the tables themselves.
    """

    decoder: PhraseDecoder
    lines: list[list[str]]
    escape: bool
    inside: bool

    @classmethod
    def open(cls, config: ExportConfig, text: Path) -> ExportedTables:
        """The tables of a text, by the decoder of a phrase run.

        Raises:
            InputError: sparse features, five orientations, or a line of more words than are translated at once.
        """
        run, reordering = Path(config.run), config.reordering
        system, work = open_system(run, config_of_run(run), Asked(), config.work)
        decoder = cast(PhraseDecoder, system)
        model, side = decoder.model, work or text_of(run)
        seen = "sparse features" if model.sparse is not None else f"{model.orientations} orientations"
        if model.sparse is not None or model.orientations != 3:
            raise InputError("tables of sentences have no place for this", file=run, seen=seen, expected="neither")
        lines = [line_tokens(side, line, number) for number, line in enumerate(read_lines(text))]
        for number, words in enumerate(lines, start=1):
            if len(words) > decoder.search.max_words:
                expected = f"at most decoder.max_words={decoder.search.max_words}"
                remedy = "cut the line in two"
                seen = f"{len(words)} words"
                raise InputError("too long a line", file=text, line=number, seen=seen, expected=expected, remedy=remedy)
        vocabularies = (model.source_vocabulary.words, model.target_vocabulary.words)
        escape = any(map(needs_escape, (*vocabularies, *lines)))
        return cls(decoder, lines, escape, reordering == "scores" and model.reordering is not None)

    @property
    def model(self) -> PhraseModel:
        """That of the decoder."""
        return self.decoder.model

    @property
    def floats(self) -> tuple[str, ...]:
        """The names of the scores behind the four, without those of places and of reordering."""
        return () if self.model.in_sentence is None else self.model.in_sentence.names

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the scores of places, which stand behind these."""
        if self.model.placed is None:
            return ()
        name, reach = self.model.placed.name, self.model.placed.reach
        return tuple(f"{name}_{distance:+d}" for distance in range(-reach, reach + 1))

    @property
    def features(self) -> list[str]:
        """The lines of moses.ini."""
        lines = [phrase_feature("0.gz", 4 + len(self.floats) + self._unweighted, 0)]
        if self.model.reordering is not None and not self.inside:
            lines.append(reordering_feature(self.model.reordering.kind, "reordering.0.gz"))
        return lines

    @property
    def _unweighted(self) -> int:
        """How many scores mean nothing to Moses."""
        return len(self.places) + 6 * self.inside

    def weights(self, given: Mapping[str, list[float]]) -> dict[str, list[float]]:
        """The weights of Moses's features, those of further scores of the tables among them."""
        weights = dict(given)
        more = self.decoder.weights_D[self.model.sentence_slots].tolist()
        weights["TranslationModel0"] = [*weights["TranslationModel0"], *more, *[0.0] * self._unweighted]
        if self.inside:
            del weights["LexicalReordering0"]
        return weights

    def write(self, folder: Path) -> int:
        """Writes all tables, the text, and how Moses is run on them; returns the number of phrase pairs."""
        self.decoder.prepare(self.lines)
        total, named = 0, []
        for number, words in enumerate(track(self.lines, "writing tables")):
            names, scores = self._named(words)
            named.append(" ".join(names))
            self._write_table(folder, number, scores)
            total += len(scores)
        write_lines(folder / INPUT, named)
        more = "".join(f" {name}" for name in self.floats)
        more += f" {self.places[0]} ... {self.places[-1]}" if self.places else ""
        more += " reordering_1 ... reordering_6" if self.inside else ""
        beside = IN_FILES if self.model.reordering is not None else ""
        placed = PLACES.format(names=f"{self.places[0]} to {self.places[-1]}") if self.places else ""
        about = ABOUT.format(more=more, reordering=placed + (IN_SCORES if self.inside else beside))
        write_lines(folder / README, about.splitlines())
        write_lines(folder / SCRIPT, COMMANDS.splitlines())
        return total

    def _named(self, words: list[str]) -> tuple[list[str], Scores]:
        """The words of a line as its table names them, and the scores of each pair at each source phrase in it."""
        if not words:
            return [], {}
        options = self.decoder.space(words).options
        known = [o for o in range(len(options)) if options.pair_O[o] >= 0]
        alone = {words[options.start_O[o]] for o in known if options.end_O[o] - options.start_O[o] == 1}
        spelled = [escape_bars(word) for word in words] if self.escape else words
        # What is copied keeps its name, unless two places could not be told apart then.
        for repeated in (alone, set(words)):
            names, scores = marked(spelled, {s for s, w in zip(spelled, words, strict=True) if w in repeated}), Scores()
            clear = True
            for o in known:
                key = " ".join(names[options.start_O[o] : options.end_O[o]]), int(options.pair_O[o])
                values = np.exp(np.concatenate([options.more_OE[o], options.place_OR[o]]))
                clear &= np.array_equal(scores.setdefault(key, values), values)
            if clear:
                break
        return names, scores

    def _write_table(self, folder: Path, number: int, scores: Scores) -> None:
        path, table = folder / f"{number}.gz", self.model.table
        rows = np.array([pair for _, pair in scores], dtype=np.int64)
        targets = spell_phrases(path, self.model.target_phrases(rows), self.model.target_vocabulary, self.escape)
        spelled = [(source, target) for (source, _), target in zip(scores, targets, strict=True)]
        order = sorted(range(len(rows)), key=lambda r: [(text + BAR).encode() for text in spelled[r]])
        rows, spelled = rows[order], [spelled[r] for r in order]
        more = np.array(list(scores.values())).reshape(len(rows), len(self.floats) + len(self.places))[order]
        columns = [table.scores_B4[rows], more]
        if self.model.reordering is not None:
            reordering_R6 = self.model.reordering.probability_BK2[rows]
            if self.inside:
                columns.append(np.where(np.isnan(reordering_R6), 1.0, reordering_R6))
            else:
                lines = zip(spelled, reordering_R6.tolist(), strict=True)
                held = [(*pair, values) for pair, values in lines if values[0] == values[0]]
                texts = (f"{source}{BAR}{target}{BAR}{numbers_text(values, True)}" for source, target, values in held)
                write_lines(folder / f"reordering.{number}.gz", texts)
        write_lines(path, pair_lines(table, rows, spelled, np.concatenate(columns, axis=1), exact=True))
