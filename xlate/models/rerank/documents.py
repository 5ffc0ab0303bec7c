"""Features of hypotheses that depend on the other sentences of their document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays
from xlate.candidates.nbest_gains import chrf_statistics
from xlate.config.model_schema import RerankConfig
from xlate.errors import refuse_if
from xlate.metrics.statistics import chrf_scores
from xlate.models.rerank.lists import Lexicon, linked

# The names of lists have no blanks.
NEIGHBOURS, TERMS = "document neighbours", "document terms"
# The lists of each document, by their places.
Groups = Sequence[Sequence[int]]


def document_floats(
    arrays: NbestArrays,
    sources: Sequence[Sequence[str]] | None,
    documents: Sequence[str] | None,
    settings: RerankConfig,
    lexicon: Lexicon | None,
) -> dict[str, Floats]:
    """The features of documents that the settings select, each (C,), by name.

    The first hypothesis of a list is the one with the highest total, or the first of the list without totals.

    Raises:
        InputError: documents are not known; or, for terms, sources are not.
    """
    if not (settings.neighbours or settings.terms):
        return {}
    keys = f"model.rerank.neighbours={settings.neighbours} model.rerank.terms={settings.terms}"
    remedy = "documents=FILE, a name per sentence, or doc in each JSON line"
    refuse_if(documents is None, "the documents are not known", keys, "the document of each sentence", remedy)
    named: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(documents or ()):
        named[name].append(number)
    groups, first_I = list(named.values()), arrays.first_I
    found: dict[str, Floats] = {}
    if settings.neighbours:
        found[NEIGHBOURS] = _agreement(arrays, groups, arrays.texts(first_I), settings.neighbours)
    if settings.terms:
        remedy = "give the sources, and model.rerank.pairs=true"
        refuse_if(
            lexicon is None or sources is None,
            "no word pairs to compare terms by",
            keys,
            "a lexicon of source words",
            remedy,
        )
        found[TERMS] = _terms(arrays, groups, first_I, sources or (), lexicon or {})
    return found


def _agreement(arrays: NbestArrays, groups: Groups, first: Sequence[str], reach: int) -> Floats:
    """The mean chrF, 0 to 1, with the first hypotheses of the sentences within reach; 0 if there are none."""
    list_C = row_numbers(arrays.candidate_offsets_I1)
    sum_C, count_C = np.zeros(len(list_C)), np.zeros(len(list_C))
    for distance in range(1, reach + 1):
        # Pairs of lists at this distance, in both directions.
        ahead = [pair for group in groups for pair in zip(group, group[distance:], strict=False)]
        for near in ({later: earlier for earlier, later in ahead}, dict(ahead)):
            lines = [[first[near[number]] if number in near else ""] for number in range(len(first))]
            there_C = np.isin(list_C, list(near))
            sum_C += np.where(there_C, chrf_scores(chrf_statistics(arrays, lines)) / 100.0, 0.0)
            count_C += there_C
    return sum_C / np.maximum(count_C, 1.0)


def _terms(
    arrays: NbestArrays, groups: Groups, first_I: Ints, sources: Sequence[Sequence[str]], lexicon: Lexicon
) -> Floats:
    """Of a hypothesis's pairs of a source and a target word whose source word the first hypotheses of other sentences
    of the document translate too, the share that one of them has; 0 if there are no such pairs.
    """
    pairs_C: list[set[tuple[str, str]]] = [set() for _ in arrays.total_C]
    hypothesis_N, pair_N, pairs = linked(arrays, sources, lexicon)
    for hypothesis, pair in zip(hypothesis_N.tolist(), pair_N.tolist(), strict=True):
        pairs_C[hypothesis].add(pairs[pair])
    share_C = np.zeros(len(pairs_C))
    for group in groups:
        own = {number: pairs_C[first_I[number]] for number in group}
        alike = Counter(pair for held in own.values() for pair in held)
        translated = Counter(source for held in own.values() for source in {source for source, _ in held})
        for number in group:
            sources_of_own = {source for source, _ in own[number]}
            for c in range(*arrays.candidate_offsets_I1[[number, number + 1]]):
                repeated = [pair for pair in pairs_C[c] if translated[pair[0]] > (pair[0] in sources_of_own)]
                same = sum(alike[pair] > (pair in own[number]) for pair in repeated)
                share_C[c] = same / max(1, len(repeated))
    return share_C
