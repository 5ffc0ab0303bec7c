"""Scores of rules by the definition; the table saved."""

from __future__ import annotations

import numpy as np

from tests.phrases.small_corpora import encoded, linked_texts, random_corpus, small_rules
from tests.phrases.test_rule_extraction import rule, table_rule
from tests.phrases.test_table import assert_same, naive_lexical, word_probabilities
from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.phrases.rule_extraction import extract_rules, score_rules
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import GAP, RuleTable


def test_scores_by_the_definition(rng):
    texts, asked = linked_texts(random_corpus(rng, 150, 8)), RuleSettings(unlikely=0.25)
    counts, lexical = extract_rules(*texts, asked), lexical_table(*texts)
    table = score_rules(counts, lexical, asked)
    forward, backward = word_probabilities(lexical)

    def unlikely(given, words, probability):
        likely = [max(probability.get((g, word), 0) for g in (-1, *given)) >= 0.25 for word in words]
        return likely.count(False)

    counted = {rule(counts, b): b for b in range(len(counts))}
    for b in range(len(table)):
        side = table.source_sides[table.source_B[b]].tolist()
        target = table.target_phrases[table.target_B[b]].tolist()
        source = [word for word in side if word != GAP]
        same = counted[table_rule(table, b)]
        links = [(source_place(side, i), j) for i, j in table.links(b)]
        turned = [(j, i) for i, j in links]
        np.testing.assert_allclose(
            table.scores_B4[b, [1, 3]],
            (naive_lexical(target, source, turned, backward), naive_lexical(source, target, links, forward)),
        )
        np.testing.assert_allclose(
            table.scores_B4[b, [0, 2]],
            counts.count_B[same]
            / [counts.target_count_Q[counts.target_B[same]], counts.source_count_P[counts.source_B[same]]],
        )
        assert table.insertion_B[b] == unlikely(source, target, forward)
        assert table.deletion_B[b] == unlikely(target, source, backward)
    assert table.insertion_B.any()
    assert (table.insertion_B != table.deletion_B).any()


def source_place(side, i):
    """The place of a word among the words of a side."""
    return sum(word != GAP for word in side[:i])


def test_save_and_load(tmp_path):
    table = small_rules()
    table.save(tmp_path / "table")
    assert_same(table, RuleTable.load(tmp_path / "table"))
    nothing = score_rules(
        extract_rules(encoded([]), encoded([]), Links.from_pairs([])),
        lexical_table(encoded([]), encoded([]), Links.from_pairs([])),
    )
    nothing.save(tmp_path / "nothing")
    assert_same(nothing, RuleTable.load(tmp_path / "nothing"))
