"""What a run learned and what decided in some sentences, as values to show."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from matplotlib import image

from xlate.config.stored import config_of_run
from xlate.jobs.evaluate import phrase_rows
from xlate.jobs.inspect.fired_text import full_explanation
from xlate.jobs.inspect.learned import learned_features
from xlate.jobs.inspect.opened import InspectedRun
from xlate.jobs.outputs import work_of_run
from xlate.jobs.translate import Translation, Translator
from xlate.kernels.orientation import LEFT
from xlate.report.pictures import reordering_picture
from xlate.report.tables import Column, Table

# Sentences to show are looked for among so many, which have at most so many words.
LOOKED_AT, MOST_WORDS = 100, 20
TOP = 10


@dataclass(frozen=True)
class Explained:
    """A sentence translated again: the picture of its blocks (PNG; None when it has none), and what spoke for it."""

    source: str
    picture: bytes | None
    explanation: str


def strongest_features(run: Path) -> Iterator[tuple[str, Table]]:
    """The float weights of a run, and of each family of sparse features those of the largest weights.

    Raises:
        InputError: the run has no weights.
    """
    inspected = InspectedRun(run)
    sets = inspected.weights.sets
    names = next(iter(sets.values())).dense_names
    columns = [Column("float", list(names))]
    columns += [Column(name, [float(w) for w in held.dense_D], 4) for name, held in sets.items()]
    yield "float weights", Table(columns)
    learned = sorted(learned_features(inspected.weights), key=lambda feature: -abs(feature.weight))
    for family in dict.fromkeys(feature.family for feature in learned):
        top = [feature for feature in learned if feature.family == family]
        shown = [
            Column("feature", inspected.names(top[:TOP])),
            Column("weight", [feature.weight for feature in top[:TOP]], 3),
        ]
        yield f"{family}: the largest of {len(top):,} weights", Table(shown)


def explained_sentences(run: Path, split: str, wanted: int) -> Iterator[Explained]:
    """The sentences with most reordering among the first short ones of a set, translated by a run.

    Raises:
        InputError: the run cannot translate, or its work directory is gone.
    """
    config = config_of_run(run)
    translator = Translator.of_run(config, run)
    work = work_of_run(run)
    lines = work.source_lines(split) if work is not None and work.has_split(split) else []
    short = islice((line for line in lines if 0 < len(line.split()) <= MOST_WORDS), LOOKED_AT)
    found = list(translator.translate(list(short)))
    found.sort(key=lambda t: (-sum(row[4] == LEFT for row in phrase_rows(t)), -len(t.source), t.number))
    for translation in found[:wanted]:
        words = f"{' '.join(translation.source)} → {translation.text}"
        yield Explained(words, _picture(translation), full_explanation(translation))


def _picture(translation: Translation) -> bytes | None:
    rows = phrase_rows(translation)
    if not rows:
        return None
    pixels = reordering_picture(translation.source, list(translation.derivations[0].words), rows)
    held = io.BytesIO()
    image.imsave(held, pixels, format="png")
    return held.getvalue()
