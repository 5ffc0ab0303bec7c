"""xlate export run=RUN out=DIR: a phrase run as a Moses system; with input=TEXT, one with a table per line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import cast

import numpy as np

from xlate.array_types import Floats
from xlate.config.schema import ExportConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.formats.moses_ini import phrase_feature, reordering_feature, write_moses_ini
from xlate.formats.moses_table import (
    BAR,
    escape_bars,
    needs_escape,
    numbers_text,
    pair_lines,
    spell_phrases,
    write_phrase_table,
)
from xlate.formats.reordering_table import write_reordering_table
from xlate.formats.sentence_tables import INPUT, MARK, marked
from xlate.jobs.imports import ALGORITHMS, LM_FILE, SEARCH, copy_packed
from xlate.jobs.translate import line_tokens, text_of
from xlate.models.kind import open_system
from xlate.models.pack_format import is_pack, unpacked
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.kind import KIND, SET, open_phrase_model
from xlate.models.phrase.model import PHRASE_FEATURES, SLOTS, PhraseModel
from xlate.models.run_files import located_config, weights_of
from xlate.models.sparse_models import folded
from xlate.progress import track
from xlate.settings import Json
from xlate.text.folders import check_replaceable, refused_while_written, whole_folder, without_mark, write_json
from xlate.text.lines import iterate_lines, read_lines, write_lines

README, SCRIPT = "README.txt", "translate.sh"
ABOUT = """Phrase tables of single sentences, written by xlate.

N.gz is the table of line N of input.txt, counted from 0, and moses.ini a Moses system with the table of line 0. Its
lines are
  source ||| target ||| p(f|e) lex(f|e) p(e|f) lex(e|f){more} ||| links ||| N(e) N(f) N(f,e) ||| |||
with probabilities, of which Moses takes logarithms. A word that repeats in a line is numbered (die, then die@@2), so
that phrases have the scores of their position.{reordering}

bash translate.sh runs Moses once per line, with the table of that line, and prints the translations; MOSES=PROGRAM
names the program. xlate translate run=RUN tables=FOLDER input=TEXT reads the same tables.
"""
PLACES = """

{names} are the probabilities of how far the translation of a phrase moves from its
place, in words, from before it to behind it. Moses does not know where it puts a phrase, so they weigh 0 in
moses.ini; xlate does."""
IN_FILES = "\nreordering.N.gz has the reordering scores of the same phrases."
IN_SCORES = """
The last six scores are those of reordering, for all orientations at once: Moses does not know which one a phrase has,
so they weigh 0 in moses.ini until you tune them."""
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


class ExportedTables:
    """One table per line.

    Args:
        decoder: its options are written; they already respect its limit, so Moses needs none.
        lines: the words of each line.
        escape: whether bars are escaped.
        inside: whether the tables themselves hold the reordering scores.
    """

    def __init__(self, decoder: PhraseDecoder, lines: list[list[str]], escape: bool, inside: bool) -> None:
        self.decoder, self.lines, self.escape, self.inside = decoder, lines, escape, inside
        self.model, self.places = decoder.model, list[str]()
        # The names of the scores after the standard four, and then those of the scores of places.
        self.floats = () if self.model.in_sentence is None else self.model.in_sentence.names
        if self.model.placed is not None:
            name, reach = self.model.placed.name, self.model.placed.reach
            self.places = [f"{name}_{distance:+d}" for distance in range(-reach, reach + 1)]
        # The number of scores that Moses does not use.
        self._unweighted = len(self.places) + 6 * inside

    @classmethod
    def open(cls, config: ExportConfig, text: Path) -> ExportedTables:
        """The tables of a text, by the decoder of a phrase run.

        Raises:
            InputError: sparse features, five orientations, or a line with more words than are translated at once.
        """
        run = Path(config.run)
        system, work = open_system(run, config_of_run(run), config.work)
        decoder = cast(PhraseDecoder, system)
        model, side = decoder.model, work or text_of(run)
        if model.sparse is not None or model.orientations != 3:
            raise InputError(
                "tables of single sentences cannot hold this",
                f"{model.orientations} orientations" if model.sparse is None else "sparse features",
                "neither",
                file=run,
            )
        lines = [line_tokens(side, line, number) for number, line in enumerate(read_lines(text))]
        for number, words in enumerate(lines, start=1):
            if len(words) > decoder.search.max_words:
                raise InputError(
                    "the line is too long",
                    f"{len(words)} words",
                    f"at most decoder.max_words={decoder.search.max_words}",
                    "split the line in two",
                    file=text,
                    line=number,
                )
        vocabularies = (model.source_vocabulary.words, model.target_vocabulary.words)
        escape = any(map(needs_escape, (*vocabularies, *lines)))
        return cls(decoder, lines, escape, config.reordering == "scores" and model.reordering is not None)

    @property
    def features(self) -> list[str]:
        """The lines of moses.ini."""
        lines = [phrase_feature("0.gz", 4 + len(self.floats) + self._unweighted, 0)]
        if self.model.reordering is not None and not self.inside:
            lines.append(reordering_feature(self.model.reordering.kind, "reordering.0.gz"))
        return lines

    def change(self, weights: dict[str, list[float]]) -> None:
        """Adds the weights of further scores of the tables to those of Moses's features."""
        weights["TranslationModel0"] += self.decoder.weights_D[self.model.sentence_slots].tolist()
        weights["TranslationModel0"] += [0.0] * self._unweighted
        if self.inside:
            del weights["LexicalReordering0"]

    def write(self, folder: Path) -> int:
        """Writes all tables, the text, and a script that runs Moses on them; returns the number of phrase pairs."""
        self.decoder.prepare(self.lines)
        total, named = 0, []
        for number, words in enumerate(track(self.lines, "writing tables")):
            names, scores = self._named(words)
            named.append(" ".join(names))
            path, table = folder / f"{number}.gz", self.model.table
            rows = np.array([pair for _, pair in scores], np.int64)
            targets = spell_phrases(path, self.model.target_phrases(rows), self.model.target_vocabulary, self.escape)
            spelled = [(source, target) for (source, _), target in zip(scores, targets, strict=True)]
            order = sorted(range(len(rows)), key=lambda r: [(text + BAR).encode() for text in spelled[r]])
            rows, spelled = rows[order], [spelled[r] for r in order]
            others = np.array(list(scores.values())).reshape(len(rows), len(self.floats) + len(self.places))[order]
            columns = [table.scores_B4[rows], others]
            if self.model.reordering is not None:
                reordering_R6 = self.model.reordering.probability_BK2[rows]
                known_R = ~np.isnan(reordering_R6[:, 0])
                if self.inside:
                    columns.append(np.where(known_R[:, None], reordering_R6, 1.0))
                else:
                    held = zip(spelled, reordering_R6.tolist(), known_R, strict=True)
                    texts = (BAR.join([*pair, numbers_text(values, True)]) for pair, values, known in held if known)
                    write_lines(folder / f"reordering.{number}.gz", texts)
            write_lines(path, pair_lines(table, rows, spelled, np.concatenate(columns, axis=1), exact=True))
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
        """The words of a line as its table names them, and the scores of each pair at each of its source phrases."""
        if not words:
            return [], {}
        options = self.decoder.space(words).options
        known = [o for o in range(len(options)) if options.pair_O[o] >= 0]
        alone = {words[options.start_O[o]] for o in known if options.end_O[o] - options.start_O[o] == 1}
        spelled = [escape_bars(word) for word in words] if self.escape else words
        # Copied words keep their names, unless two places would become indistinguishable.
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


TABLE, INI = "phrase-table.gz", "moses.ini"
log = logging.getLogger(__name__)
# Models of Moses's truecaser; `source` or `target` is appended.
TRUECASING = "truecase-model"
# Marks a folder as an exported system, which a later export may replace.
FORMAT = "xlate export 1"
FILES = (
    r"(phrase|reordering)-table\..*gz|lm\.arpa\.gz|moses\.ini|xlate-export\.json|truecase-model\.(source|target)"
    r"|(reordering\.)?\d+\.gz|input\.txt|README\.txt|translate\.sh"
)


def export_moses(config: ExportConfig) -> Json:
    """Writes tables, language model, weights and search settings of a run of the phrase model in Moses's formats.

    Numbers are written with all their digits, so an imported system scores as the run does. If any word holds a bar,
    bars are written `&#124;` in tables and language model, and must also be in the text to translate. That text must be
    tokenised as the run's was and, if the run truecases, truecased by the models written here; if the run splits
    words, they must be split, which a warning says.

    With `input` there is one table per line in place of one for all; see `ExportedTables`.

    Raises:
        InputError: the run is of another kind, not finished, or has predictions in context without `input`; another
            process is writing `out`, or it holds something else.
    """
    out = Path(config.out)
    with refused_while_written(out, "folder"):
        asked = out, "an exported system", without_mark(MARK, FORMAT, FILES), "name another folder with out=…"
        check_replaceable(*asked)
        run, trained = _exportable(config)
        tables = None if config.input is None else ExportedTables.open(config, Path(config.input))
        if tables is not None:
            model, weights_D = tables.model, tables.decoder.weights_D
        else:
            model, weights_D = _folded(run, trained)
        names = [name for name in PHRASE_FEATURES if model.reordering is not None or name != "LexicalReordering0"]
        weights = {name: weights_D[SLOTS[name]].tolist() for name in names}
        with whole_folder(*asked) as aside:
            if tables is not None:
                pairs, features, escape = tables.write(aside), tables.features, tables.escape
                tables.change(weights)
            else:
                escape, features = _write_tables(aside, model, trained.decoder.options)
            lm = language_model_file(run, trained)
            if escape:
                write_lines(aside / LM_FILE, map(escape_bars, iterate_lines(lm)))
            else:
                copy_packed(lm, aside / LM_FILE)
            settings = {name: getattr(trained.decoder, key) for name, key in SEARCH.items()}
            settings["search-algorithm"] = ALGORITHMS.index(trained.decoder.algorithm)
            lm_feature = f"KENLM name=LM0 factor=0 path={LM_FILE} order={model.lm.order}"
            features = ["UnknownWordPenalty", "WordPenalty", "PhrasePenalty", *features, "Distortion", lm_feature]
            write_moses_ini(aside / INI, features, weights, settings)
            text = trained.work_directory if trained.work else text_of(run)
            if "split" in getattr(text, "preprocessing", ()):
                log.warning("warning: %s splits words; split them in the text for Moses, too", trained.work)
            vocabularies = {"source": model.source_vocabulary, "target": model.target_vocabulary}
            for side, caser in text.casers.items():
                lines = caser.moses_lines(vocabularies[side].words)
                write_lines(aside / f"{TRUECASING}.{side}", map(escape_bars, lines) if escape else lines)
            more = {} if tables is None else {"tables": True, "escaped": escape}
            write_json(aside / MARK, {"format": FORMAT, "run": str(run), **more}, indent=1)
        if tables is not None:
            return {"out": str(out), "pairs": pairs, "tables": len(tables.lines)}
        return {"out": str(out), "pairs": len(model.table), "files": sorted(p.name for p in out.iterdir())}


def _exportable(config: ExportConfig) -> tuple[Path, TrainConfig]:
    """The folder of the run, and how it was trained; refuses what Moses cannot represent."""
    run = unpacked(Path(config.run))
    if is_pack(run):
        raise InputError(
            "a packed run has no language model in a format of Moses",
            "a packed run",
            "a run with its work directory",
            "export it on the machine where it was packed",
            file=Path(config.run),
        )
    kind = config_of_run(run).model.kind
    if kind != KIND:
        raise InputError("only phrase models can be exported to Moses", f"model.kind={kind}", file=run)
    trained = located_config(run, work=config.work)
    refuse_if(
        trained.model.histories or trained.model.joint,
        "Moses has no features with history",
        f"model.histories={trained.model.histories} model.joint={trained.model.joint}",
        "a run without them",
        file=run,
    )
    return run, trained


def _folded(run: Path, trained: TrainConfig) -> tuple[PhraseModel, Floats]:
    """The model with its sparse features in its tables, and its weights."""
    model = open_phrase_model(run, trained)
    if model.in_sentence is not None or model.placed is not None:
        raise InputError(
            "predictions in context differ by sentence, so a single table cannot hold them",
            "a run with context=…",
            file=run,
            remedy="set input=FILE, the text to translate: each of its lines gets its own table",
        )
    return folded(model, weights_of(run).fitting(SET, model.sparse, run))


def _write_tables(out: Path, model: PhraseModel, options: int) -> tuple[bool, list[str]]:
    """Writes phrase and reordering tables; returns whether bars are escaped, and the lines of moses.ini."""
    vocabularies = (model.source_vocabulary, model.target_vocabulary)
    escape = any(needs_escape(vocabulary.words) for vocabulary in vocabularies)
    write_phrase_table(out / TABLE, model.table, *vocabularies, escape=escape, exact=True)
    features = [phrase_feature(TABLE, 4, options)]
    if model.reordering is not None:
        name = f"reordering-table.{model.reordering.kind}-msd-bidirectional-fe.gz"
        scores = model.reordering.probability_BK2
        write_reordering_table(out / name, model.table, scores, *vocabularies, escape=escape, exact=True)
        features.append(reordering_feature(model.reordering.kind, name))
    return escape, features


def language_model_file(run: Path, trained: TrainConfig) -> Path:
    """The packed ARPA file behind a run: its own, that of the run it is based on, or its work directory's."""
    if (run / LM_FILE).exists():
        return run / LM_FILE
    if trained.base is not None:
        base = Path(trained.base)
        return language_model_file(base, located_config(base, near=trained.work))
    return trained.work_directory.stage("lm").folder / LM_FILE
