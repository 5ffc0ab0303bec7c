"""Systems of cdec and Joshua decode as they stand; Joshua's own lists are the golden figures."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from xlate.formats.cdec import read_joshua_system
from xlate.metrics.score import evaluate
from xlate.models.grammar.system import GrammarSystem
from xlate.search.settings import GrammarSearch
from xlate.text.lines import read_lines, read_references

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def test_joshua_scores_its_translations_alike(shared_data: Path) -> None:
    """Joshua's lists of the same 100 sentences, at its pop limit, hold nearly all of the best translations found here.

    Where the score differs, the better derivation was found here: Joshua prunes more.
    """
    folder = shared_data / "foreign-models" / "joshua-bn-en-hiero"
    system = GrammarSystem.of_foreign(read_joshua_system(folder / "joshua.config"), GrammarSearch(pop_limit=100))
    gold = defaultdict(list)
    for line in read_lines(shared_data / "nbest" / "joshua-bn-en-hiero.kbest-quoted.gz"):
        score, _, words = line.strip('"').partition(" ")
        gold[words].append(float(score))
    found = [system.translate(line.split())[0] for line in read_lines(folder / "input.bn")]
    there = [(each.score, gold[" ".join(each.words)]) for each in found if " ".join(each.words) in gold]
    assert len(there) >= 80
    assert sum(min(abs(score - other) for other in scores) < 2e-3 for score, scores in there) >= 75
    assert all(score > max(scores) - 2e-3 for score, scores in there)
    references = read_references([folder / f"reference.en.{n}" for n in range(4)], 100)
    figures = evaluate(
        [" ".join(each.words) for each in found], references, tokenize="none", bootstrap=0, measures=["bleu"]
    )
    # Joshua's own test of this model says 23.25.
    assert figures["bleu"] > 23.25
