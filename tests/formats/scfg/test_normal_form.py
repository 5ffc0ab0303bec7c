"""Grammars and rule tables become each other without loss."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.formats.scfg.small_grammars import grammars
from xlate.errors import InputError
from xlate.formats.scfg.bracketed import (
    read_cdec_grammar,
    read_joshua_grammar,
    write_cdec_grammar,
    write_joshua_grammar,
)
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, glue_grammar, joined
from xlate.formats.scfg.moses_rules import read_moses_grammar, write_moses_grammar
from xlate.formats.scfg.normal_form import (
    FLOOR,
    NormalRules,
    grammar_of,
    in_normal_form,
    log_scores,
    normal_rules,
    normal_share,
)
from xlate.phrases.rules import GAP, RuleTable
from xlate.text.encoded import EncodedText

ONE, TWO = Gap("X", 1), Gap("X", 2)
FEATURES = tuple(f"PhraseModel_{column}" for column in range(4))


@pytest.mark.parametrize(
    ("target", "normal"),
    [
        (("u",), True),
        (("u", "v"), True),
        (("u", ONE, TWO), True),
        (("u", TWO, ONE), True),
        ((ONE, "u", TWO), False),
        (("u", ONE, "v", TWO), False),
        ((ONE, TWO), False),
        (("u", ONE, Gap("Y", 2)), False),
        (("u", ONE, TWO, Gap("X", 3)), False),
    ],
)
def test_what_is_in_normal_form(target: tuple[str | Gap, ...], normal: bool) -> None:
    source = ("a", *sorted((symbol for symbol in target if isinstance(symbol, Gap)), key=lambda gap: gap.number))
    assert in_normal_form(ScfgRule("X", source, target)) is normal
    assert not in_normal_form(ScfgRule("Y", source, target))


def test_the_share_of_a_grammar() -> None:
    rules = [
        ScfgRule("X", ("a",), ("u",)),
        ScfgRule("X", ("a", ONE), ("u", ONE)),
        ScfgRule("X", ("a", ONE), (ONE, "u")),
        ScfgRule("X", ("a", ONE), ("v", ONE, "u")),
    ]
    share = normal_share(Scfg(rules, (), np.zeros((4, 0))))
    assert share == (4, 3, 2, 1)
    assert str(share).startswith("2 of 4 rules (50.0 %) are in target normal form, 1 of the 3 with")


def example() -> NormalRules:
    """The rules of the docstring of `RuleTable`, a longer one, and one that is not in normal form."""
    rules = [
        ScfgRule("X", (ONE, "de", TWO), ("of", TWO, ONE), ((1, 0),)),
        ScfgRule("X", ("ne", ONE, "pas"), ("not", ONE), ((0, 0), (2, 0))),
        ScfgRule("X", ("ne", ONE, "pas"), (ONE, "not")),
        ScfgRule("X", ("de",), ("of", "|"), ((0, 0), (0, 1))),
        ScfgRule("X", (ONE, "de", TWO), ("of", ONE, TWO)),
    ]
    values = np.array([[0.5, 0.25, 1, 0.1], [1, 1, 1, 1], [1, 1, 1, 1], [0.3, 1e-9, 0.7, 0.2], [0.1, 0.2, 0.3, 0.4]])
    return normal_rules(Scfg(rules, FEATURES, values, count_B=np.array([1.0, 2, 3, 4, 5])), FEATURES, "probability")


def test_a_rule_table_of_a_grammar() -> None:
    table, source, target, rows_B, share = example()
    assert len(table) == 4
    assert share[:3] == (5, 4, 4)
    sides = [[source.word(n) if n != GAP else "GAP" for n in table.source_sides[int(s)]] for s in table.source_B]
    phrases = [[target.word(n) for n in table.target_phrases[int(t)]] for t in table.target_B]
    found = {
        (" ".join(side), " ".join(phrase), bool(swapped)): (b, count)
        for side, phrase, swapped, b, count in zip(
            sides, phrases, table.swapped_B, rows_B.tolist(), table.count_B.tolist(), strict=True
        )
    }
    assert found == {
        ("GAP de GAP", "of", True): (0, 1),
        ("ne GAP pas", "not", False): (1, 2),
        ("de", "of |", False): (3, 4),
        ("GAP de GAP", "of", False): (4, 5),
    }
    b = rows_B.tolist().index(1)
    assert table.links(b) == [(0, 0), (2, 0)]
    keys = np.stack([table.source_B, table.target_B, table.swapped_B], axis=1).tolist()
    assert keys == sorted(keys)
    for text in (table.source_sides, table.target_phrases):
        rows = [text[row].tolist() for row in range(len(text))]
        assert rows == sorted(rows)


def assert_same_tables(one: RuleTable, two: RuleTable) -> None:
    for field in fields(RuleTable):
        left, right = getattr(one, field.name), getattr(two, field.name)
        if isinstance(left, EncodedText):
            assert left.ids_T.tolist() == right.ids_T.tolist()
            assert left.offsets_S1.tolist() == right.offsets_S1.tolist()
        elif field.name == "scores_B4":
            np.testing.assert_allclose(left, right, rtol=1e-13)
        else:
            assert left.dtype == right.dtype
            assert left.tolist() == right.tolist(), field.name


def round_trips(table: NormalRules, folder: Path) -> None:
    vocabularies = (table.source_vocabulary, table.target_vocabulary)
    names = ("InversePhrase", "InverseLexical", "DirectPhrase", "DirectLexical")
    moses = tuple(f"TranslationModel0_{n}" for n in range(4))
    write_moses_grammar(folder / "moses", grammar_of(table.table, *vocabularies, "probability"))
    write_cdec_grammar(folder / "cdec", grammar_of(table.table, *vocabularies, "ln"), counts=True)
    write_joshua_grammar(folder / "joshua", grammar_of(table.table, *vocabularies, "-log10"), counts=True)
    for scfg, features, scale in (
        (read_moses_grammar(folder / "moses"), moses, "probability"),
        (read_cdec_grammar(folder / "cdec"), names, "ln"),
        (read_joshua_grammar(folder / "joshua"), names, "-log10"),
    ):
        again = normal_rules(scfg, features, scale, vocabularies=vocabularies)
        assert_same_tables(again.table, table.table)
        assert again.share.normal == again.share.rules


def test_rule_tables_come_back_from_every_format(tmp_path: Path) -> None:
    round_trips(example(), tmp_path)


@given(grammars(most=12, columns=4))
def test_random_rule_tables_come_back(tmp_path_factory: pytest.TempPathFactory, grammar: Scfg) -> None:
    counted = Scfg(grammar.rules, FEATURES, np.exp(-abs(grammar.dense_BD)), count_B=np.arange(len(grammar)) + 1.0)
    round_trips(normal_rules(counted, FEATURES, "probability"), tmp_path_factory.mktemp("tables"))


def test_of_equal_rules_the_likeliest_stays() -> None:
    rules = [ScfgRule("X", ("a",), ("u",))] * 3
    values = np.tile(np.array([[0.1], [0.3], [0.2]]), 4)
    table, _, _, rows_B, _ = normal_rules(Scfg(rules, FEATURES, values), FEATURES, "probability")
    assert rows_B.tolist() == [1]
    assert table.scores_B4.tolist() == [[0.3] * 4]
    assert table.count_B.tolist() == [1]


def test_scores_out_of_range_and_unknown_names_are_refused() -> None:
    grammar = Scfg([ScfgRule("X", ("a",), ("u",))], FEATURES, np.full((1, 4), -1.0))
    with pytest.raises(InputError, match="scores out of range"):
        normal_rules(grammar, FEATURES, "probability")
    with pytest.raises(InputError, match="scores out of range"):
        normal_rules(Scfg(grammar.rules, FEATURES, 1e9 * grammar.dense_BD), FEATURES, "-ln")
    with pytest.raises(InputError, match="features that the grammar does not have"):
        normal_rules(grammar, (*FEATURES[:3], "x"), "ln")
    with pytest.raises(InputError, match="features that the grammar does not have"):
        normal_rules(grammar, FEATURES[:3], "ln")
    with pytest.raises(InputError, match="no such scale"):
        normal_rules(grammar, FEATURES, "log2")
    other = example()
    with pytest.raises(InputError, match="a word that the vocabulary lacks"):
        normal_rules(grammar, FEATURES, "ln", vocabularies=(other.source_vocabulary, other.target_vocabulary))
    with pytest.raises(InputError, match="no probability"):
        log_scores(grammar)


def test_an_empty_grammar_gives_an_empty_table() -> None:
    table = normal_rules(Scfg([], FEATURES, np.zeros((0, 4))), FEATURES, "ln").table
    assert len(table) == 0
    assert table.link_offsets_B1.tolist() == [0]


def test_logarithms_have_a_floor() -> None:
    grammar = Scfg([ScfgRule("X", ("a",), ("u",))], ("one", "two"), np.array([[0.0, 1.0]]))
    assert log_scores(grammar).dense_BD.tolist() == [[FLOOR, 0.0]]


def test_joined_grammars_keep_their_features() -> None:
    one = Scfg([ScfgRule("X", ("a",), ("u",))], ("f", "g"), np.array([[1.0, 2.0]]), {0: {"own": 3.0}})
    two = Scfg([ScfgRule("S", (ONE,), (ONE,))], ("g", "h"), np.array([[4.0, 5.0]]), {0: {"own": 6.0}}, np.array([7.0]))
    both = joined([one, two])
    assert [both.features(b) for b in range(2)] == [{"f": 1, "g": 2, "own": 3}, {"g": 4, "h": 5, "own": 6}]
    assert both.count_B is not None
    assert both.count_B.tolist() == [1, 7]
    assert both.select([1]).features(0) == both.features(1)
    assert both.select([1]).rules == two.rules


def test_glue_rules() -> None:
    grammar = glue_grammar(["X", "Y"])
    assert [str(rule) for rule in grammar.rules] == [
        "S → [X,1] | [X,1]",
        "S → [Y,1] | [Y,1]",
        "S → [S,1] [X,2] | [S,1] [X,2]",
        "S → [S,1] [Y,2] | [S,1] [Y,2]",
    ]
    assert [grammar.features(b) for b in range(4)] == [{}, {}, {"Glue": 1}, {"Glue": 1}]
