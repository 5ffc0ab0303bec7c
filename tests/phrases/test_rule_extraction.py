"""Rule extraction and scores of rules: by the definition written naively, and the same in whatever memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from benchmarks.rule_forms import rule_forms
from tests.phrases.small_corpora import assert_same, encoded, linked_texts, pair_links, random_corpus, small_rules
from tests.phrases.test_extract import moses_choice, naive_spans
from tests.phrases.test_table import naive_lexical, word_probabilities
from xlate.align.lexical import NULL, lexical_table
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.phrases import extract, rule_extraction, runs
from xlate.phrases.rule_extraction import ONE, extract_rules, score_rules
from xlate.phrases.runs import PairCounts, Runs
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import GAP, RuleTable

FIRST, SECOND = "X1", "X2"


def tight(pairs, links):
    """Of the phrase pairs that hold the same links, the smallest (Chiang 2005, section 3.2)."""
    of_links = defaultdict(list)
    for i1, i2, j1, j2 in pairs:
        inside = frozenset((i, j) for i, j in links if i1 <= i < i2 and j1 <= j < j2)
        of_links[inside].append((i1, i2, j1, j2))
    return {min(same, key=lambda p: (p[1] - p[0]) + (p[3] - p[2])) for same in of_links.values()}


def side(words, start, end, gaps):
    """The words of a span with gaps {(start, end): name}, and the place of each word that is left."""
    symbols, places, i = [], {}, start
    while i < end:
        gap = next((g for g in gaps if g[0] == i), None)
        places[i] = len(symbols)
        symbols.append(words[i] if gap is None else gaps[gap])
        i = i + 1 if gap is None else gap[1]
    return tuple(symbols), places


def disjoint(one, other):
    return one[1] <= other[0] or other[1] <= one[0]


def naive_rules(source, target, links, asked):
    """For each initial phrase pair the rules that come from it: (source side, target side, links)."""
    within = set(naive_spans(source, target, links, asked.source_span, asked.target_span))
    initial = within if asked.loose_phrases else tight(within, links)
    smaller = within if asked.loose_gaps else tight(within, links)
    for i1, i2, j1, j2 in initial:
        inside = [g for g in smaller if i1 <= g[0] and g[1] <= i2 and j1 <= g[2] and g[3] <= j2]
        inside = [g for g in inside if g[1] - g[0] >= asked.least_gap]
        rules = []
        for count in range(asked.most_gaps + 1):
            for gaps in combinations(inside, count):
                if not all(disjoint(a[:2], b[:2]) and disjoint(a[2:], b[2:]) for a, b in combinations(gaps, 2)):
                    continue
                named = dict(zip(sorted(gaps), (FIRST, SECOND), strict=False))
                source_side, source_places = side(source, i1, i2, {g[:2]: name for g, name in named.items()})
                target_side, target_places = side(target, j1, j2, {g[2:]: name for g, name in named.items()})
                left = [
                    (source_places[i], target_places[j])
                    for i, j in links
                    if j1 <= j < j2 and not any(g[2] <= j < g[3] for g in gaps)
                ]
                words = [sum(isinstance(x, int) for x in symbols) for symbols in (source_side, target_side)]
                beside = any(isinstance(a, str) and isinstance(b, str) for a, b in pairwise(source_side))
                fits = len(source_side) <= asked.symbols and len(left) >= asked.least_links and min(words) > 0
                if fits and (asked.adjacent or not beside):
                    rules.append((source_side, target_side, tuple(sorted(left))))
        yield rules


def is_normal(target_side):
    """Words first, then non-terminals."""
    kinds = [isinstance(x, str) for x in target_side]
    return kinds == sorted(kinds)


def naive_counts(corpus, asked):
    """What each rule in normal form counts in parts of `ONE`, and each of its sets of links."""
    weights, shapes = Counter(), defaultdict(Counter)
    for source, target, links in corpus:
        for rules in naive_rules(source, target, links, asked):
            normal = [rule for rule in rules if is_normal(rule[1])]
            for source_side, target_side, left in normal:
                weight = (ONE + len(normal) // 2) // len(normal) if asked.shared_counts else ONE
                weights[source_side, target_side] += weight
                shapes[source_side, target_side][left] += weight
    return weights, shapes


def extracted(corpus, asked) -> PairCounts:
    return extract_rules(*linked_texts(corpus), asked)


def source_side(words):
    names = [FIRST, SECOND]
    return tuple(names.pop(0) if word == GAP else word for word in words.tolist())


def rule(counts: PairCounts, b: int):
    """Source side and target side of counted rule b as the naive form writes them."""
    names = {GAP: FIRST, rule_extraction.SECOND: SECOND}
    target = counts.target_phrases[counts.target_B[b]].tolist()
    return source_side(counts.source_phrases[counts.source_B[b]]), tuple(names.get(word, word) for word in target)


def table_rule(table: RuleTable, b: int):
    """The same of a table."""
    named = source_side(table.source_sides[table.source_B[b]])
    gaps = [word for word in named if isinstance(word, str)]
    target = table.target_phrases[table.target_B[b]].tolist()
    return named, (*target, *(reversed(gaps) if table.swapped_B[b] else gaps))


@st.composite
def linked_corpora(draw):
    """Sentence pairs of few words whose links are mostly one to one, so that phrase pairs nest and rules come again."""
    word, corpus = st.sampled_from((0, 3, 4)), []
    for length in draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)):
        source = draw(st.lists(word, min_size=length, max_size=length))
        target = draw(st.lists(word, min_size=length, max_size=length + 1))
        places = draw(st.permutations(range(length)))
        links = {link for link in enumerate(places) if draw(st.integers(0, 5))}
        if length:
            links |= draw(
                st.sets(st.tuples(st.sampled_from(range(length)), st.sampled_from(range(length))), max_size=1)
            )
        corpus.append((source, target, links))
    return corpus


some_settings = st.builds(
    RuleSettings,
    source_span=st.sampled_from((6, 10, 3)),
    target_span=st.sampled_from((6, 10, 3)),
    symbols=st.sampled_from((5, 6, 3)),
    most_gaps=st.sampled_from((2, 1, 0)),
    least_gap=st.sampled_from((1, 2)),
    least_links=st.sampled_from((1, 1, 0, 2)),
    adjacent=st.booleans(),
    loose_phrases=st.booleans(),
    loose_gaps=st.booleans(),
    shared_counts=st.booleans(),
    least_count=st.sampled_from((0.0, 0.4)),
    unlikely=st.sampled_from((0.1, 0.25, 0.6)),
)


@hypothesis_settings(max_examples=80, deadline=None)
@given(linked_corpora(), some_settings)
def test_equals_the_definition(corpus, asked):
    counts = extracted(corpus, asked)
    weights, shapes = naive_counts(corpus, asked)
    found = [rule(counts, b) for b in range(len(counts))]
    assert dict(zip(found, counts.count_B.tolist(), strict=True)) == weights
    for b, sides in enumerate(found):
        assert tuple(sorted(pair_links(counts, b))) == moses_choice(shapes[sides], len(sides[1]), 1)
        totals = counts.source_count_P[counts.source_B[b]], counts.target_count_Q[counts.target_B[b]]
        for at, total in enumerate(totals):
            assert total == sum(weight for other, weight in weights.items() if other[at] == sides[at])


@hypothesis_settings(max_examples=80, deadline=None)
@given(linked_corpora(), some_settings)
def test_a_table_has_the_counted_rules_in_order_with_scores_by_the_definition(corpus, asked):
    counts, lexical = extracted(corpus, asked), lexical_table(*linked_texts(corpus))
    table = score_rules(counts, lexical, asked)
    forward, backward = word_probabilities(lexical)

    def unlikely(given, words, probability):
        return sum(max(probability.get((g, word), 0) for g in (NULL, *given)) < asked.unlikely for word in words)

    # Rare rules with non-terminals are left out, after all totals were counted.
    kept_B = counts.count_B >= round(asked.least_count * ONE)
    rules = ((rule(counts, b), b) for b in range(len(counts)))
    counted = {sides: b for sides, b in rules if kept_B[b] or FIRST not in sides[0]}
    assert sorted((table_rule(table, b) for b in range(len(table))), key=counted.get) == list(counted)
    keys = list(zip(table.source_B.tolist(), table.target_B.tolist(), table.swapped_B.tolist(), strict=True))
    assert keys == sorted(keys)
    for phrases, rows in ((table.source_sides, table.source_B), (table.target_phrases, table.target_B)):
        listed = [phrases[p].tolist() for p in range(len(phrases))]
        assert listed == sorted(listed)
        assert set(rows.tolist()) == set(range(len(phrases)))
    for b in range(len(table)):
        same = counted[table_rule(table, b)]
        count, totals = counts.count_B[same], [counts.target_count_Q[counts.target_B[same]]]
        totals.append(counts.source_count_P[counts.source_B[same]])
        assert table.count_B[b] * ONE == count
        assert table.links(b) == pair_links(counts, same)
        side, target = table.source_sides[table.source_B[b]].tolist(), table.target_phrases[table.target_B[b]].tolist()
        source = [word for word in side if word != GAP]
        # The places of words among the words of the side.
        links = [(i - side[:i].count(GAP), j) for i, j in table.links(b)]
        turned = [(j, i) for i, j in links]
        weights = naive_lexical(target, source, turned, backward), naive_lexical(source, target, links, forward)
        expected = count / totals[0], weights[0], count / totals[1], weights[1]
        np.testing.assert_allclose(table.scores_B4[b], expected)
        assert table.insertion_B[b] == unlikely(source, target, forward)
        assert table.deletion_B[b] == unlikely(target, source, backward)


def test_a_table_comes_back_from_disk(tmp_path):
    nothing = extract_rules(encoded([]), encoded([]), Links.from_pairs([]))
    empty = score_rules(nothing, lexical_table(encoded([]), encoded([]), Links.from_pairs([])))
    for table in (small_rules(), empty):
        table.save(tmp_path)
        assert_same(RuleTable.load(tmp_path), table)


@hypothesis_settings(max_examples=25, deadline=None)
@given(linked_corpora(), some_settings)
def test_forms_equal_the_definition(corpus, asked):
    forms = rule_forms(*linked_texts(corpus), asked)
    tokens = Counter(
        (source_side, target_side)
        for sentence in corpus
        for rules in naive_rules(*sentence, asked)
        for source_side, target_side, _ in rules
    )
    every, normal = np.zeros((2, 2, 3), int)
    for (source_side, target_side), count in tokens.items():
        gaps = sum(isinstance(x, str) for x in source_side)
        every[:, gaps] += (1, count)
        normal[:, gaps] += (is_normal(target_side), is_normal(target_side) * count)
    np.testing.assert_array_equal([forms.types_G, forms.tokens_G], every)
    np.testing.assert_array_equal([forms.normal_types_G, forms.normal_tokens_G], normal)
    assert len(extracted(corpus, asked)) == forms.normal_types_G.sum()


@hypothesis_settings(max_examples=25, deadline=None)
@given(linked_corpora(), some_settings)
def test_many_small_runs_give_the_same(corpus, asked):
    whole = extracted(corpus, asked)
    with pytest.MonkeyPatch.context() as patch, Runs(1) as bounded:
        patch.setattr(runs, "GROWTH", 1 << 40)
        patch.setattr(runs, "ROW_BYTES", 1 << 40)
        patch.setattr(extract, "PART_WORDS", 1)
        assert_same(extract_rules(*linked_texts(corpus), asked, bounded), whole)


def test_memory_is_bounded_and_changes_nothing(rng, tmp_path, monkeypatch):
    corpus = random_corpus(rng, 2000, 60)
    written = []
    write = Runs.write
    monkeypatch.setattr(Runs, "write", lambda runs, run: (written.append(len(run.weight_N)), write(runs, run))[1])
    whole = extracted(corpus, RuleSettings())
    assert not written
    with Runs(1, tmp_path) as bounded:
        assert_same(extract_rules(*linked_texts(corpus), RuleSettings(), bounded), whole)
    assert len(written) > 2
    assert max(written) < len(whole) / 2
    assert not list(tmp_path.iterdir())


def test_large_random_corpus_grows_every_table(rng):
    corpus = random_corpus(rng, 100, 400)
    counts, (weights, _) = extracted(corpus, RuleSettings()), naive_counts(corpus, RuleSettings())
    found = {rule(counts, b): counts.count_B[b] for b in range(len(counts))}
    assert len(found) > 1024
    assert found == weights


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("source_span", 0), ("target_span", 256), ("symbols", 0), ("most_gaps", 3), ("least_gap", 0)),
        *(("least_links", -1), ("least_count", float("nan")), ("unlikely", 1.5), ("memory_mb", 0)),
    ],
)
def test_settings_out_of_range(name, value):
    with pytest.raises(InputError, match=f"{name} is out of range"):
        RuleSettings(**{name: value})


def test_memory_is_no_part_of_what_rules_are():
    assert RuleSettings(memory_mb=5).identity() == RuleSettings().identity()
    assert RuleSettings(symbols=4).identity() != RuleSettings().identity()
