"""Features that compare a hypothesis with the rest of its document, computed by hand, and learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sacrebleu

import xlate
from tests.test_rerank_end_to_end import write_lists
from xlate.cli.main import main
from xlate.config.model_schema import RerankConfig
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import by_sentence
from xlate.formats.records import JsonStyle
from xlate.models.rerank.documents import NEIGHBOURS, TERMS, document_floats

LISTS = [
    {"id": "a", "doc": "d", "src": "das Haus", "hypotheses": ["the house", "the home"]},
    {"id": "b", "doc": "d", "src": "ein Haus", "hypotheses": ["a home", "a house"]},
    {"id": "c", "doc": "e", "src": "Haus", "hypotheses": ["house"]},
    {"id": "f", "doc": "d", "src": "hier", "hypotheses": ["here"]},
]
LEXICON = {"house": {"Haus": 0.5}, "home": {"Haus": 0.5}, "the": {"das": 1.0}, "a": {"ein": 1.0}}


def test_values_are_those_computed_by_hand() -> None:
    style = JsonStyle()
    read = [one for number, given in enumerate(LISTS, 1) for one in style.line(given, number)]
    lists = list(by_sentence(read, "lists"))
    sources, documents = [str(one["src"]).split() for one in LISTS], [str(one["doc"]) for one in LISTS]
    given = nbest_arrays(lists), sources, documents
    assert document_floats(*given, RerankConfig(), LEXICON) == {}
    found = document_floats(*given, RerankConfig(neighbours=1, terms=True), LEXICON)
    # The other sentence says `home` where this one says `house`, and the other way round.
    assert found[TERMS].tolist() == [0, 1, 0, 1, 0, 0]

    def chrf(hypothesis: str, *neighbours: str) -> float:
        return float(np.mean([sacrebleu.sentence_chrf(hypothesis, [one]).score / 100 for one in neighbours]))

    assert found[NEIGHBOURS].tolist() == pytest.approx(
        [
            chrf("the house", "a home"),
            chrf("the home", "a home"),
            chrf("a home", "the house", "here"),
            chrf("a house", "the house", "here"),
            0,
            chrf("here", "a home"),
        ]
    )
    with pytest.raises(xlate.InputError, match="no word pairs"):
        document_floats(*given, RerankConfig(terms=True), None)


def test_documents_are_named_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write_lists(tmp_path, "train", range(24))
    (tmp_path / "documents").write_text("".join(f"part {number // 6}\n" for number in range(24)))
    keys = ["model=rerank", "loss=mira", "loss.tune.heldout_every=4", "model.rerank.neighbours=2"]
    keys.append("model.rerank.terms=true")
    assert main(["train", *keys, *given, f"run={tmp_path / 'run'}"]) == 2
    assert "the documents are not known" in capsys.readouterr().err
    named = f"documents={tmp_path / 'documents'}"
    assert main(["train", *keys, *given, named, f"run={tmp_path / 'run'}"]) == 0
    weights = xlate.Reranker.load(tmp_path / "run").weights
    assert weights.keys() >= {NEIGHBOURS, TERMS}
    rescored = ["nbest", "rescore", str(tmp_path / "train.nbest"), f"run={tmp_path / 'run'}", f"out={tmp_path / 'out'}"]
    assert main([*rescored, f"source={tmp_path / 'train.src'}", named]) == 0
