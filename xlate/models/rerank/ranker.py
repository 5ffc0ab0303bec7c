"""A trained ranker of lists: its weights, the features it knows, and the scores it gives to hypotheses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Floats
from xlate.arrays.ragged import places_in_rows
from xlate.candidates.nbest import NbestArrays
from xlate.candidates.nbest_gains import UTILITIES, utilities
from xlate.config.model_schema import RerankConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.formats.nbest_list import Hypothesis
from xlate.models.rerank.documents import document_floats
from xlate.models.rerank.lists import (
    BATCH,
    Lacking,
    Lexicon,
    SentenceLines,
    document_names,
    in_batches,
    source_lines,
    text_features,
)
from xlate.models.run_files import weights_of
from xlate.settings import LARGEST_INT
from xlate.text.folders import Fields, read_json
from xlate.text.tokens import split_tokens

# The set of weights, and the file with what the features know about words.
SET, KNOWN = "rerank", "words.json"
# Whether sources were known in training, and the float features that some training lines lacked.
SOURCES, NEARLY = "sources", "nearly"
# None of these can be mistaken for a feature of the list: names there have no blanks.
TOTAL, POSITION, MBR = "total score", "list position", "mbr "


def computed_floats(
    arrays: NbestArrays,
    settings: RerankConfig,
    sources: Sequence[Sequence[str]] | None,
    documents: Sequence[str] | None,
    lexicon: Lexicon | None,
) -> dict[str, Floats]:
    """The features computed from whole lists, each (C,), by name.

    Raises:
        InputError: probabilities are requested, and hypotheses have no totals; or features of documents are, and
            documents or sources are not known.
    """
    found: dict[str, Floats] = {}
    if arrays.has_totals:
        found[TOTAL] = arrays.total_C
    if settings.position:
        found[POSITION] = 1.0 / (1 + places_in_rows(arrays.candidate_offsets_I1)).astype(np.float64)
    if settings.mbr in UTILITIES:
        found[MBR + settings.mbr] = utilities(arrays, settings.mbr, settings.mbr_scale)
    return found | document_floats(arrays, sources, documents, settings, lexicon)


# Some lists, the scores of their hypotheses, (C,), and their float features in the order of the weights, (C, D).
Ranked = tuple[list[list[Hypothesis]], Floats, Floats]


@dataclass(frozen=True)
class Ranker:
    """A finished run of model=rerank: its settings, float and sparse weights by name, and what it knows about words."""

    settings: RerankConfig
    floats: Mapping[str, float]
    sparse: Mapping[str, float]
    known: Mapping[str, Any]

    @classmethod
    def open(cls, run: Path) -> Ranker:
        """Reads a run.

        Raises:
            InputError: not a finished run of this kind.
        """
        config = config_of_run(run)
        other = config.model.rerank is None
        refuse_if(other, "not a run that ranks lists", config.model.kind, "model=rerank", file=run)
        file = weights_of(run, config)
        weights, sparse = file.sets[SET], {name: weight for *_, name, weight in file.learned(SET)}
        fields: Fields = {"classes": dict, "lexicon": (dict, type(None)), SOURCES: bool, NEARLY: list}
        known = read_json(run / KNOWN, "the vocabulary of a ranking run", "train the run again", fields)
        return cls(config.model.rerank, weights.floats, sparse, known)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of n-grams with weights."""
        return frozenset(chain.from_iterable(name.partition("=")[2].split(" ") for name in self.sparse))

    def scored(
        self,
        lists: Iterable[list[Hypothesis]],
        file: str | Path,
        sources: SentenceLines | None = None,
        documents: SentenceLines | None = None,
    ) -> Iterator[Ranked]:
        """Some lists of `file` at a time, with the scores and the float features of their hypotheses.

        Raises:
            InputError: they lack the floats or sources that the run was trained with.
        """
        # Features of documents need all of their sentences.
        whole = self.settings.neighbours or self.settings.terms
        lacking, known = Lacking(), set(self.known[NEARLY])
        for batch, arrays in in_batches(lists, file, LARGEST_INT if whole else BATCH):
            lines = source_lines(batch, file, sources)
            tokens = None if lines is None else [*map(split_tokens, lines)]
            named = document_names(batch, documents)
            computed = computed_floats(arrays, self.settings, tokens, named, self.known["lexicon"])
            lacking.add(arrays, [name for name in self.floats if name not in computed])
            known |= {*arrays.names}
            floats_CD = arrays.table([*self.floats])
            for place, name in enumerate(self.floats):
                if name in computed:
                    floats_CD[:, place] = computed[name]
            yield batch, self._scores(arrays, tokens, computed, file), floats_CD
        missing = [name for name in self.floats if lacking.counts[name] and name not in known]
        if missing:
            raise InputError(
                "the list lacks features",
                ", ".join(missing[:5]),
                "the features of the run: " + ", ".join(self.floats),
                "use lists of the same system, with the same columns",
                file=file,
            )
        lacking.warn([name for name in self.floats if 0 < lacking.counts[name] < lacking.lines], file)

    def _scores(
        self,
        arrays: NbestArrays,
        sources: Sequence[Sequence[str]] | None,
        computed: Mapping[str, Floats],
        file: str | Path,
    ) -> Floats:
        lexicon, sparse, floats = self.known["lexicon"], self.sparse, self.floats
        if not self.known[SOURCES]:
            sources = None
        elif sources is None and (self.settings.length or lexicon):
            raise InputError(
                "the run was trained with sources, but this list has none",
                "a list without sources",
                "the translated sentences, for the features of word pairs and lengths",
                "source=FILE",
                file=file,
            )
        sparse_C, weight = np.zeros(len(arrays.total_C)), defaultdict(float, sparse).__getitem__
        known = self.settings, self.known["classes"], lexicon
        for hypothesis_N, weight_N in text_features(*known, arrays, sources, weight, self.words):
            np.add.at(sparse_C, hypothesis_N, weight_N)
        with np.errstate(over="ignore", invalid="ignore"):
            # Only features of the list have a column there.
            own = {**(sparse if self.settings.given_sparse else {}), **floats}
            columns = (floats[name] * column_C for name, column_C in computed.items() if name in floats)
            score_C: Floats = arrays.scores(own) + sum(columns, np.zeros(len(sparse_C)))
            return arrays.finite(sparse_C + score_C)
