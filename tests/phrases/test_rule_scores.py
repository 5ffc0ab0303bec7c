"""Scores of rules by the definition; the table saved, selected and damaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.phrases.small_corpora import encoded, pair_links, random_corpus, small_rules
from tests.phrases.test_rule_extraction import rule, table_rule
from tests.phrases.test_table import assert_same, naive_lexical
from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.phrases.rule_extraction import extract_rules, score_rules
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import GAP, RuleTable, gaps_of


def test_scores_by_the_definition(rng):
    corpus = random_corpus(rng, 150, 8)
    asked = RuleSettings(unlikely=0.25)
    texts = encoded(s for s, _, _ in corpus), encoded(t for _, t, _ in corpus), Links.from_pairs(c[2] for c in corpus)
    counts, lexical = extract_rules(*texts, asked), lexical_table(*texts)
    table = score_rules(counts, lexical, asked)
    linked = list(zip(lexical.source_K.tolist(), lexical.target_K.tolist(), strict=True))
    forward = dict(zip(linked, lexical.target_given_source_K, strict=True))
    backward = dict(zip(((t, s) for s, t in linked), lexical.source_given_target_K, strict=True))

    def unlikely(given, words, probability):
        likely = [max(probability.get((g, word), 0) for g in (-1, *given)) >= 0.25 for word in words]
        return likely.count(False)

    counted = {rule(counts, b): b for b in range(len(counts))}
    for b in range(len(table)):
        side = table.source_sides[table.source_B[b]].tolist()
        target = table.target_phrases[table.target_B[b]].tolist()
        source = [word for word in side if word != GAP]
        same = counted[table_rule(table, b)]
        assert table.links(b) == pair_links(counts, same)
        assert all(side[i] != GAP for i, _ in table.links(b))
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


def changed(table: RuleTable, name: str, b: int, value: int) -> RuleTable:
    array = getattr(table, name).copy()
    array[b] = value
    return replace(table, **{name: array})


def test_values_out_of_their_ranges_are_refused(tmp_path):
    table = small_rules()
    gapped = int(np.flatnonzero(gaps_of(table.source_sides)[table.source_B] == 1)[0])
    gap = table.source_sides[table.source_B[gapped]].tolist().index(GAP)
    sides = table.source_sides
    wrong = {
        "insertion_B": changed(table, "insertion_B", 0, 99),
        "deletion_B": changed(table, "deletion_B", 0, -1),
        "link_source_K": changed(table, "link_source_K", int(table.link_offsets_B1[gapped]), gap),
        "source_sides_ids": replace(table, source_sides=replace(sides, ids_T=np.full_like(sides.ids_T, GAP))),
        "swapped_B": changed(table, "swapped_B", gapped, True),
    }
    for name, damaged in wrong.items():
        damaged.save(tmp_path / name)
        with pytest.raises(InputError) as caught:
            RuleTable.load(tmp_path / name)
        assert str(caught.value.file).endswith(f"{name}.npy"), name
