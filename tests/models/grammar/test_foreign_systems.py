"""Systems of cdec and Joshua decode as they stand; Joshua's own lists are the golden figures."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from pathlib import Path

import pytest

from tests.models.grammar.forced import count_derivations
from xlate.formats.cdec import read_cdec_grammar, read_joshua_system
from xlate.formats.scfg import NO_LIMIT, glue_grammar, joined
from xlate.metrics.score import evaluate
from xlate.models.grammar.kind import load_grammar, save_grammar
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.grammar.system import GrammarSystem
from xlate.search.settings import GrammarSearch
from xlate.text.lines import read_lines, read_references

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "foreign-models" / "joshua-bn-en-hiero"


@pytest.fixture(scope="module")
def system(folder: Path) -> GrammarSystem:
    return GrammarSystem.of_foreign(read_joshua_system(folder / "joshua.config"), GrammarSearch(pop_limit=100))


def test_joshua_scores_its_translations_alike(shared_data: Path, folder: Path, system: GrammarSystem) -> None:
    """Joshua's lists of the same 100 sentences, at its pop limit, hold nearly all of the best translations found here.

    Where the score differs, the better derivation was found here: Joshua prunes more.
    """
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


def test_more_pops_find_better_derivations(folder: Path, system: GrammarSystem) -> None:
    sentences = [line.split() for line in read_lines(folder / "input.bn")[:20]]
    means = []
    for pops in (1, 10, 100):
        pruned = system.with_search(pop_limit=pops)
        means.append(sum(pruned.translate(words)[0].score for words in sentences))
    assert means == sorted(means)
    assert means[0] < means[2]


def test_a_system_of_joshua_is_stored_whole(folder: Path, system: GrammarSystem, tmp_path: Path) -> None:
    system = system.with_search(pop_limit=20, nbest=5)
    save_grammar(tmp_path, system.grammar, system.model)
    grammar, model = load_grammar(tmp_path)
    assert grammar.scfg.rules == system.grammar.scfg.rules
    stored = system.changed(grammar=grammar, model=model)
    text = [line.split() for line in read_lines(folder / "input.bn")[:10]]
    needed = stored.changed(grammar=grammar.needed_for(text))
    assert len(needed.grammar.scfg) < len(grammar.scfg) / 5
    for words in text:
        expected = [(one.words, one.score) for one in system.translate(words)]
        for other in (stored, needed):
            assert [(one.words, one.score) for one in other.translate(words)] == expected


def test_what_a_grammar_of_cdec_says_it_reaches(shared_data: Path) -> None:
    grammar = read_cdec_grammar(shared_data / "foreign-models" / "cdec-nc-wmt11-de-en.scfg.gz")
    whole = SynchronousGrammar(joined([(grammar, 15), (glue_grammar(), NO_LIMIT)]), "S")
    known = {rule.source[0] for rule in grammar.rules if len(rule.source) == 1}
    lines = (line.split() for line in read_lines(shared_data / "news-commentary" / "nc-wmt11.de-en.de.gz"))
    sentences = (words for words in lines if 5 < len(words) <= 20 and {*words} <= known)
    weights, search = {"PhraseModel_3": -1.0, "PhraseModel_4": -1.0}, GrammarSearch(pop_limit=5)
    system = GrammarSystem(whole, weights, search=search)
    for words in islice(sentences, 3):
        assert count_derivations(whole, words, system.translate(words)[0].words) > 0
