"""`xlate.Translator` on runs of every kind, and its processes."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import xlate
import xlate.losses
from tests.commands import Capture, succeed
from tests.test_context_end_to_end import context_run  # noqa: F401
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_hierarchical_end_to_end import rules_run  # noqa: F401
from tests.test_lcs_end_to_end import lcs_run  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run, translated  # noqa: F401
from xlate.errors import InputError

SENTENCE = "Nirka no holdo va bolko ast."


def test_it_translates_as_the_command_does(phrase_run: Path, tmp_path: Path) -> None:  # noqa: F811
    wanted = translated(phrase_run, tmp_path)
    translator = xlate.Translator.load(phrase_run)
    texts = ["Nirka no holdo va bolko ast.", "", "Gonban va fuspan ri pikum nu."]
    assert translator.translate(texts) == wanted
    assert translator.translate(tuple(texts)) == wanted
    assert translator.translate(texts[0]) == wanted[0]
    assert translator.translate([]) == []


def test_terms_of_a_glossary(phrase_run: Path, tmp_path: Path, capsys: Capture) -> None:  # noqa: F811
    """Hard ones are in the output, by the command and in Python; tests/models/test_every_system.py has all systems."""
    terms = {"hold*": "Toys", "nirka": "grand lady"}
    file = tmp_path / "terms"
    file.write_text("# mine\n" + "".join(f"{source}\t{target}\n" for source, target in terms.items()))
    translator = xlate.Translator.load(phrase_run, glossary=terms)
    text = translator.translate(SENTENCE)
    assert "toys" in text.lower()
    assert "grand lady" in text.lower()
    [best, *_] = translator.nbest(SENTENCE, 3)
    assert {unit.source for unit in best.units if unit.term} == {("nirka",), ("holdo",)}
    assert "(term)" in translator.explain(SENTENCE)
    (tmp_path / "in").write_text(SENTENCE + "\n")
    command = ["translate", f"run={phrase_run}", f"glossary={file}", f"input={tmp_path / 'in'}"]
    succeed(*command, f"output={tmp_path / 'out'}")
    assert (tmp_path / "out").read_text() == text + "\n"
    assert "2 of 2 terms translated by the glossary" in capsys.readouterr().err
    soft = xlate.Translator.load(phrase_run, glossary=file, terms="soft")
    units = [unit for one in soft.nbest(SENTENCE, 20) for unit in one.units]
    assert not all(unit.term for unit in units if unit.source == ("nirka",))
    with pytest.raises(InputError, match="unknown use of terms"):
        xlate.Translator.load(phrase_run, glossary=terms, terms="firm")


@pytest.mark.parametrize("kind", ["run", "phrase_run", "rules_run", "lcs_run"])
def test_lists_have_scores_features_and_spans(kind: str, request: pytest.FixtureRequest) -> None:
    translator = xlate.Translator.load(request.getfixturevalue(kind))
    found = translator.nbest(SENTENCE, 6)
    assert 1 < len(found) <= 6
    assert len({one.words for one in found}) == len(found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert found[0].text == translator.translate(SENTENCE)
    for one in found:
        total = sum(translator.weights[name] * value for name, value in one.features.items())
        assert total == pytest.approx(one.score, abs=1e-6)
        assert tuple(word for unit in one.units for word in unit.target) == one.words
        assert [unit.target_span[1] - unit.target_span[0] for unit in one.units] == [len(u.target) for u in one.units]
        covered = sorted(place for u in one.units for start, end in u.source_spans for place in range(start, end))
        assert covered == sorted(set(covered))
    several = translator.nbest([SENTENCE, ""], 6)
    assert several[0] == found
    assert [one.text for one in several[1]] == [""]
    assert len(translator.nbest(SENTENCE, 6, distinct=False)) == 6


def test_what_is_no_text_is_refused() -> None:
    translator = object.__new__(xlate.Translator)
    for wrong in (3, None, {"a": "b"}):
        for method in (translator.translate, translator.nbest):
            with pytest.raises(InputError, match=re.escape(f"{wrong!r}")) as refused:
                method(wrong)
            assert refused.value.expected == "a string, or a list or tuple of strings"
    with pytest.raises(InputError, match="int at 1"):
        translator.translate(["a", 3])


def test_processes_stay_and_say_the_same(phrase_run: Path) -> None:  # noqa: F811
    texts = [SENTENCE, "", "Gonban va fuspan ri pikum nu.", "xyzzy ."] * 5
    alone = xlate.Translator.load(phrase_run)
    before = set(children())
    with xlate.Translator.load(phrase_run, processes=2) as translator:
        assert translator.translate(SENTENCE) == alone.translate(SENTENCE)
        assert set(children()) == before, "one sentence needs no processes"
        assert translator.translate(texts) == alone.translate(texts)
        held = set(children()) - before
        assert len(held) == 2
        assert translator.nbest(texts, 3) == alone.nbest(texts, 3)
        assert set(children()) - before == held
    assert set(children()) == before
    with translator:
        assert translator.translate(texts) == alone.translate(texts), "it can be used again"
    assert set(children()) == before


def children() -> list[int]:
    import multiprocessing

    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


def test_a_sentence_that_fails_in_a_process_is_named(phrase_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    translator = xlate.Translator.load(phrase_run, processes=2)
    system = type(translator._opened.system)
    found = system.translate

    def failing(self, words):
        if words and words[0] == "fails":
            raise InputError("no")
        return found(self, words)

    monkeypatch.setattr(system, "translate", failing)
    texts = [SENTENCE] * 20 + ["fails"] + [SENTENCE] * 20
    with translator:
        with pytest.raises(InputError, match="sentence 21: no"):
            translator.translate(texts)
        assert len(translator.translate(texts[:20])) == 20, "what was left of the other text is not taken for this one"


def test_settings_of_the_search(phrase_run: Path) -> None:  # noqa: F811
    quick = xlate.Translator.load(phrase_run, pop_limit=5, algorithm="cube", detokenize=False)
    search = quick._opened.system.search
    assert (search.pop_limit, search.algorithm) == (5, "cube")
    assert quick.translate(SENTENCE).endswith(" .")
    with pytest.raises(InputError, match=r"did you mean decoder\.pop_limit"):
        xlate.Translator.load(phrase_run, pop_limt=5)
    with pytest.raises(InputError, match="pop_limit"):
        xlate.Translator.load(phrase_run, pop_limit=0)
    with pytest.raises(InputError, match="too few processes"):
        xlate.Translator.load(phrase_run, processes=0)


def test_what_cannot_be_translated(phrase_run: Path, context_run: Path, tmp_path: Path) -> None:  # noqa: F811
    translator = xlate.Translator.load(phrase_run)
    with pytest.raises(InputError, match="n=0"):
        translator.nbest(SENTENCE, 0)
    with pytest.raises(InputError, match="not a run directory"):
        xlate.Translator.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="predicts translations"):
        xlate.Translator.load(context_run)


def test_examples_of_the_docstrings(
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from xlate import reranker, training, translator
    from xlate.candidates import batch
    from xlate.losses import list_loss

    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "demo").symlink_to(phrase_run)
    monkeypatch.chdir(tmp_path)
    for module in (translator, reranker, training, batch, list_loss):
        failed, tried = doctest.testmod(module)
        assert tried
        assert not failed


def test_importing_xlate_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'numpy', 'numba', 'hydra', 'omegaconf', 'sacremoses'}"
    code = f"import sys, xlate.losses; assert not {heavy} & set(sys.modules); assert 'Translator' in dir(xlate)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_are_there() -> None:
    for module in (xlate, xlate.losses):
        assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Translater'"):
        xlate.Translater  # noqa: B018
    assert (Path(xlate.__file__).parent / "py.typed").exists()
