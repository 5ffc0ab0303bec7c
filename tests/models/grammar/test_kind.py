"""Whole grammars from the command line, with their own weights and language model, on disk, and for a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.formats.written_rules import scfg_of
from tests.models.grammar.enumeration import random_grammar
from tests.models.grammar.test_moses_system import ARPA
from tests.models.small_models import random_arpa
from xlate.errors import InputError
from xlate.formats.scfg import NO_LIMIT, glue_grammar, joined
from xlate.jobs.translate import TokenizedText, Translator, say_counts
from xlate.lm.model import NgramModel
from xlate.models.grammar.kind import load_grammar, open_grammar, save_grammar
from xlate.models.grammar.parsing import SynchronousGrammar

GRAMMAR = """\
[X] ||| ne [X,1] pas ||| do [1] not ||| 1 Own=2
[X] ||| va ||| go ||| 0.5
[X] ||| maison ||| house ||| 0.25
[X] ||| [X,1] bleue ||| blue [1] ||| 0.5
"""
INI = """\
formalism=scfg
grammar=grammar
add_pass_through_rules=true
scfg_max_span_limit=15
feature_function=WordPenalty
feature_function=KLanguageModel lm.arpa
weights=weights
"""
MODEL = NgramModel.from_arpa(random_arpa(np.random.default_rng(2), 2))
WEIGHTS = "PhraseModel_0 -1\nOwn 0.5\nLanguageModel 2\nWordPenalty -0.5\nGlue -0.1\nPassThrough -3\n"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    return write_cdec_system(tmp_path)


def write_cdec_system(folder: Path) -> Path:
    """A small system, and the text `in` beside it."""
    for name, text in (("grammar", GRAMMAR), ("lm.arpa", ARPA), ("weights", WEIGHTS), ("cdec.ini", INI)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "in").write_text("ne va pas\nmaison zz\n\n", encoding="utf-8")
    return folder / "cdec.ini"


def test_a_system_of_cdec_translates_with_its_own_scores(system: Path) -> None:
    found = [open_grammar(system, {}).translate(text.split())[0] for text in ("ne va pas", "maison zz", "")]
    assert [" ".join(one.words) for one in found] == ["do go not", "house zz", ""]
    # Log probabilities are of base 10: three words and the end of the sentence; a word counts -log10(e).
    assert found[0].score == pytest.approx(-(1 + 0.5) + 0.5 * 2 + 2 * -4 + 0.5 * 3 / 2.302585093)


def test_source_words_count_whatever_is_copied(system: Path) -> None:
    (system.parent / "weights").write_text(WEIGHTS + "SourceWordPenalty 2\n", encoding="utf-8")
    scores = []
    for more in ("", "feature_function=SourceWordPenalty\n"):
        system.write_text(INI + more, encoding="utf-8")
        opened = open_grammar(system, {})
        # The last word of "maison zz" is copied.
        scores.append([opened.translate(text.split())[0].score for text in ("ne va pas", "maison zz", "")])
    assert np.diff(scores, axis=0)[0] == pytest.approx([-3 * 2 / 2.302585093, -2 * 2 / 2.302585093, 0])


def test_from_left_to_right_it_says_which_rules_are_in_the_way(system: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_grammar(system, {"algorithm": "cube"})
    # Two of words, and of those with a gap the one whose target is a word, then the gap; two rules are glue.
    for said in (
        "3 of 6 rules",
        "2 rules: a label other than X, such as S → [X,1] | [X,1]",
        "1 rules: a target word after a non-terminal, such as X → ne [X,1] pas | do [X,1] not",
        "decoder.algorithm=cky",
    ):
        assert said in str(caught.value)


def test_sentences_that_are_longer_than_a_rule_may_span_are_counted(
    system: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    system.write_text(INI.replace("limit=15", "limit=2"), encoding="utf-8")
    translator = Translator(TokenizedText(), open_grammar(system, {}))
    found = [one.text for one in translator.translate(["ne va pas", "maison zz", ""])]
    say_counts(translator.counts)
    assert "1 of 3 sentences have more words than a rule spans (the grammar's longest span=2)" in caplog.text
    assert found == ["ne go pas", "house zz", ""]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("grammar", GRAMMAR + "[X] ||| ne [Y,1] ||| not [1] ||| 1\n", "grammar:5: an unknown label"),
        ("cdec.ini", INI + "aligner=true\n", "cdec.ini:8: a system that aligns"),
        ("cdec.ini", INI + "feature_function=Ngram\n", "cdec.ini:8: an unknown feature function"),
        ("cdec.ini", "formalism=fst\n", "not a system with a grammar"),
    ],
)
def test_files_that_cannot_be_used(system: Path, name: str, text: str, message: str) -> None:
    (system.parent / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        open_grammar(system, {})
    assert caught.value.expected


@pytest.mark.parametrize("seed", [1, 2])
def test_there_and_back(tmp_path: Path, seed: int) -> None:
    grammar, given = random_grammar(seed), MODEL if seed % 2 else None
    save_grammar(tmp_path, grammar, given)
    found, model = load_grammar(tmp_path)
    assert (found.goal, found.copy_label) == (grammar.goal, grammar.copy_label)
    assert found.scfg.rules == grammar.scfg.rules
    assert all(found.scfg.features(b) == grammar.scfg.features(b) for b in range(len(grammar.scfg)))
    assert (model is None) == (given is None)
    assert model is None or np.array_equal(model.arrays.slots_H, MODEL.arrays.slots_H)


def test_rules_of_which_a_phrase_or_a_label_is_missing_are_left_out() -> None:
    scfg = scfg_of("X → a X1 b | u X1", "X → a b | v", "X → a Y1 | w Y1", "Y → c | w", "X → a | u")
    parts = [(scfg, 4), (glue_grammar(), NO_LIMIT)]
    grammar = SynchronousGrammar(joined(parts), "S")
    needed = grammar.needed_for([["b", "a"], ["b"]])
    limited = [scfg.rules[b]._replace(limit=4) for b in (0, 4)]
    assert needed.scfg.rules == [*limited, *glue_grammar().rules]
    with pytest.raises(InputError, match="unknown label"):
        SynchronousGrammar(scfg_of("S → a | u"), "S").needed_for([["b"]])
