"""The examples, in miniature."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.commands import Capture
from xlate.text.lines import write_lines

pytestmark = pytest.mark.usefixtures("one_thread")
FOLDER = Path(__file__).resolve().parents[1] / "examples" / "neural_nbest"
SMALL = [
    "--width=16", "--layers=2", "--merges=30", "--epochs=40", "--tokens=60", "--beam=4", "--dropout=0", "--rate=0.02",
    "--warmup=20",
]  # fmt: skip


@pytest.fixture
def neural(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("neural_nbest", "pieces", "model", "search", "training", "score_list"):
        sys.modules.pop(name, None)
    import neural_nbest

    return neural_nbest


def write_corpus(folder: Path) -> None:
    for split, count in (("train", 40), ("val", 12), ("test_2016_flickr", 6)):
        for language, words in (("de", "ein kein hund vogel rennt singt"), ("en", "a no dog bird runs sings")):
            a, no, dog, bird, runs, sings = words.split()
            rows = [f"{(a, no)[s % 2]} {(dog, bird)[s // 2 % 2]} {(runs, sings)[s // 4 % 2]} .\n" for s in range(count)]
            (folder / f"{split}.{language}").write_text("".join(rows))


def test_a_small_transformer_writes_lists_that_are_reranked(
    tmp_path: Path, neural: ModuleType, capsys: Capture
) -> None:
    write_corpus(tmp_path)
    arguments = [f"--data={tmp_path}", f"--out={tmp_path / 'out'}", *SMALL]
    neural.main(arguments)
    first = json.loads(capsys.readouterr().out.rpartition("\n{")[2].join(["{", ""]))
    assert {"first", "reranked", "oracle", "random", "mbr"} <= first["rows"].keys()
    rows = [json.loads(line) for line in (tmp_path / "out" / "val.jsonl").read_text().splitlines()]
    assert {row["id"] for row in rows} == set(range(12))
    assert all(row["score"] == pytest.approx(row["scores"]["log_prob"] / row["scores"]["pieces"]) for row in rows)
    assert len((tmp_path / "out" / "test.best").read_text().splitlines()) == 6
    import score_list

    column = tmp_path / "column"
    scoring = [f"--model={tmp_path / 'out'}", f"--list={tmp_path / 'out' / 'val.jsonl'}", f"--out={column}"]
    score_list.main(scoring)
    told = [float(line) for line in column.read_text().splitlines()]
    pieces = neural.Pieces.load(tmp_path / "out" / "pieces.json")
    # The search may cut words in other ways than the pieces of the text are cut.
    same = [len(pieces.ids(row["hyp"].split())) + 1 == row["scores"]["pieces"] for row in rows]
    assert len(told) == len(rows)
    assert sum(same) > 12
    for value, row, is_same in zip(told, rows, same, strict=True):
        assert value == pytest.approx(row["scores"]["log_prob"], abs=1e-3) or not is_same
    # The other way, with a model of the other direction.
    score_list.main([*scoring, "--backward=1"])
    model, _ = neural.opened(tmp_path / "out", "cpu")
    made, known = (pieces.ids(rows[0][key].split()) for key in ("hyp", "src"))
    with torch.no_grad():
        log_p = model(torch.tensor([made]), torch.tensor([[1, *known]]))[0].log_softmax(-1)
    wanted = float(log_p.gather(1, torch.tensor([[*known, 2]]).T).sum())
    assert float(column.read_text().split()[0]) == pytest.approx(wanted, abs=1e-3)
    # What is finished is not done again.
    neural.main(arguments)
    assert "model.pt exists: skipping the training" in capsys.readouterr().out


def test_steps_of_the_search_score_as_the_whole_decoder_does(neural: ModuleType) -> None:
    from pieces import BEGIN

    torch.manual_seed(1)
    model = neural.Translator(20, 16, 2, 0.0).eval()
    sources = [[4, 5, 6], [7], [8, 9, 10, 11, 12]]
    lists = neural.beam_search(model, sources, 5, "cpu")
    assert all(1 <= len(found) <= 5 for found in lists)
    assert len(lists[2]) == 5
    for source, found in zip(sources, lists, strict=True):
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert len({tuple(one.pieces) for one in found}) == len(found)
        for one in found:
            target = torch.tensor([[BEGIN, *one.pieces]])
            with torch.no_grad():
                log_p = model(torch.tensor([source]), target[:, :-1])[0].log_softmax(-1)
            wanted = log_p[torch.arange(len(one.pieces)), target[0, 1:]]
            assert one.log_probs == pytest.approx(wanted.tolist(), abs=1e-4)


def test_training_goes_on_behind_its_last_epoch(tmp_path: Path, neural: ModuleType) -> None:
    write_corpus(tmp_path)
    arguments = [f"--data={tmp_path}", *SMALL, "--lists=0", "--held=8"]
    shorter = [*arguments, f"--out={tmp_path / 'out'}", "--minutes=0"]
    neural.main(shorter)
    stopped = torch.load(tmp_path / "out" / "checkpoint.pt")
    assert (stopped["epoch"], stopped["step"]) == (1, 1)
    (tmp_path / "out" / "model.pt").unlink()
    neural.main([*arguments, f"--out={tmp_path / 'out'}", "--epochs=3"])
    ended = torch.load(tmp_path / "out" / "checkpoint.pt")
    assert ended["epoch"] == 3
    assert ended["step"] > stopped["step"]
    assert ended["best"] < stopped["best"]
    assert not (tmp_path / "out" / "val.jsonl").exists()


def test_pieces_make_their_words_again(neural: ModuleType) -> None:
    from collections import Counter

    pieces = neural.Pieces.learn(Counter({"lower": 3, "lowest": 4, "newer": 5, "aaaa": 2}), 8)
    words = ["lower", "newest", "aaaa", "low"]
    assert pieces.words(pieces.ids(words)) == "lower newest aaaa low"
    assert len(pieces.ids(["newer"])) < 5
    assert pieces.ids(["x"]) == [3]


def test_choices_from_lists_are_compared(tmp_path: Path, capsys: Capture) -> None:
    """A column that knows the references is the best one; the list's own order is the worst."""
    names = ["a dog runs .", "a dog sings .", "no dog runs .", "a bird runs ."]
    for split, many in (("dev", 12), ("test", 8)):
        right = [names[number % 4] for number in range(many)]
        write_lines(tmp_path / f"{split}.ref", right)
        lines = [(number, place, names[(number + place + 1) % 4]) for number in range(many) for place in range(4)]
        rows = [{"id": number, "hyp": text, "scores": {"p": -place}, "score": -place} for number, place, text in lines]
        for seed in ("1", "2"):
            write_lines(tmp_path / seed / f"{split}.jsonl", map(json.dumps, rows))
            write_lines(tmp_path / seed / f"{split}.told", [str(float(text == right[n])) for n, _, text in lines])
    script = runpy.run_path(str(FOLDER.parent / "columns" / "columns.py"))
    lists = {split: [str(tmp_path / seed / f"{split}.jsonl") for seed in ("1", "2")] for split in ("dev", "test")}
    files = [f"--dev-ref={tmp_path / 'dev.ref'}", f"--test-ref={tmp_path / 'test.ref'}", f"--out={tmp_path / 'out'}"]
    script["main"](["--dev", *lists["dev"], "--test", *lists["test"], *files, "--columns", "told"])
    table = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    chrf = {row[0].strip("| "): float(row[1].split()[0]) for row in table[1:]}
    assert list(chrf) == ["first of the list", "best column", "MBR", "learned", "learned, MBR and words"]
    assert chrf["best column"] == chrf["learned"] == 100.0 > chrf["first of the list"]
    assert (tmp_path / "out" / "1" / "column.weights").read_text().startswith("told")
