"""A small corpus added to a prepared one: text, links, tables and language model of both."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from xlate.config.load import load
from xlate.config.schema import PrepareConfig
from xlate.demo.corpus import DemoCorpus
from xlate.errors import InputError
from xlate.jobs.prepare import prepare
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel, perplexity, token_logprobs
from xlate.phrases.mixture import mixed_lm
from xlate.text.lines import write_lines
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory


def prepared(work: Path, seed: int, *more: str) -> WorkDirectory:
    size = [f"data.generated.{key}" for key in (f"seed={seed}", "train=150", "dev=20", "test=5")]
    return prepare(load(PrepareConfig, "prepare", ["data=demo", "align=fast_align", f"work={work}", *size, *more]))


def unchanged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The stages that were not made again."""
    return [message.split()[0] for message in caplog.messages if message.endswith("unchanged")]


def test_a_small_corpus_is_mixed_with_a_prepared_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    base, alone = prepared(tmp_path / "base", 1), prepared(tmp_path / "alone", 2)
    mixed = prepared(tmp_path / "mixed", 2, f"mix={base.path}")
    size = len(base.copies)
    assert len(mixed.copies) == size + len(alone.copies)
    assert mixed.training_tokens("source")[:size] == [*base.training_tokens("source")]
    assert [mixed.links.pairs(s) for s in range(size)] == [base.links.pairs(s) for s in range(size)]
    assert mixed.source_lines("dev") == alone.source_lines("dev")
    dev = [mixed.target_tokens(line) for line in mixed.references("dev")[0]]
    fit = [perplexity(work.lm, dev).including_unknown for work in (mixed, base, alone)]
    assert fit[0] < min(fit[1:])
    table = mixed.blocks.table
    assert len(table) > max(len(base.blocks.table), len(alone.blocks.table))
    np.testing.assert_allclose(np.bincount(table.source_B, table.scores_B4[:, 2]), 1.0)
    # Another weight makes only the language model and the tables again.
    caplog.clear()
    with caplog.at_level(logging.INFO):
        prepared(tmp_path / "mixed", 2, f"mix={base.path}", "mix_weight=0.9")
    assert unchanged(caplog) == ["corpus", "align"]
    assert "the new text weighs 0.90" in caplog.text


def test_a_language_model_is_a_mixture_of_one_per_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Three texts; nothing else is made again, and the n-grams are those of one model of all texts."""
    lines = [target for _, target in DemoCorpus(1).pairs(90, "train")]
    texts = [lines[:3] + [""] + lines[5:40], lines[50:90]]
    for name, text in zip("ab", texts, strict=True):
        write_lines(tmp_path / name, text)
    more = "lm.order=3", f"data.lm_text=[{tmp_path / 'a'},{tmp_path / 'b'}]"
    plain, plan = prepared(tmp_path / "work", 1, *more), json.loads((tmp_path / "work" / "plan.json").read_text())
    assert plan["lm"]["settings"] == {"order": 3}
    before = sum(plain.stage("lm").figures.values())
    caplog.clear()
    with caplog.at_level(logging.INFO):
        work = prepared(tmp_path / "work", 1, *more, "lm.mixture=true")
    assert unchanged(caplog) == ["corpus", "align", "phrases"]
    assert work.plan["lm"]["settings"]["texts"] == [39, 40]
    words, sides = work.target_vocabulary, [[*map(work.target_tokens, text)] for text in texts]
    encoded = [work.encoded[1], *(EncodedText.encode(side, words) for side in sides)]
    dev = EncodedText.encode([*map(work.target_tokens, work.references("dev")[0])], words)
    wanted = NgramModel.from_arpa(mixed_lm([estimate(text, words, 3) for text in encoded], dev))
    np.testing.assert_array_equal(token_logprobs(work.lm, dev), token_logprobs(wanted, dev))
    assert sum(work.stage("lm").figures.values()) == before
    assert any(message.startswith("language models weigh ") for message in caplog.messages)


def test_what_cannot_be_mixed_is_refused(tmp_path: Path) -> None:
    base = prepared(tmp_path / "base", 1).path
    both = r"texts that cannot be mixed(?s:.*)"
    for keys, match in (
        ("data.case=lower", "mix"),
        ("mix_weight=1", "mix"),
        ("data.dev_source=null data.dev_pairs=0", "mix"),
        (f"work={base}", "mix"),
        ("align=given align.links=links", both + r"align\.links=links"),
        ("phrases.smoothing=kneser_ney", both + r"phrases\.smoothing=kneser_ney"),
    ):
        with pytest.raises(InputError, match=match):
            prepared(tmp_path / "mixed", 1, f"mix={base}", *keys.split())
    for keys in ("", "data.lm_text=[a] data.dev_source=null data.dev_pairs=0"):
        with pytest.raises(InputError, match="language models that cannot be mixed"):
            prepared(tmp_path / "mixed", 1, "lm.mixture=true", *keys.split())
