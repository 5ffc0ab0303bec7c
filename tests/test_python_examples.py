"""The examples of xlate in Python, in miniature: a torch reranker, translating, weights from own lists."""

from __future__ import annotations

import gc
import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.commands import Capture
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401

Example = Callable[[str], ModuleType]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def example() -> Iterator[Example]:
    """Gives the module of an example; losses that it defines are known only while the test runs."""
    opened: list[str] = []

    def module_of(name: str) -> ModuleType:
        file = min(EXAMPLES.glob(f"*/{name}.py"))
        specification = importlib.util.spec_from_file_location(f"example_{name}", file)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        opened.append(module.__name__)
        sys.modules[module.__name__] = module
        specification.loader.exec_module(module)
        return module

    yield module_of
    for name in opened:
        vars(sys.modules.pop(name)).clear()
    gc.collect()


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Lists whose better hypotheses say `good` where the others say `bad`, which their system does not know."""
    draw = random.Random(1)
    names = []
    for name, size in (("train", 60), ("test", 20)):
        rows = []
        for sentence in range(size):
            for rank in range(draw.randint(2, 6)):
                words = [draw.choice(["good", "bad", "so", "la"]) for _ in range(6)]
                gain = 0.5 + (words.count("good") - words.count("bad")) / 12
                scores = {"log_prob": -1.0 - 0.1 * rank}
                row = {"id": sentence, "src": "gut", "hyp": " ".join(words), "gain": gain, "scores": scores}
                rows.append(json.dumps(row))
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(rows) + "\n")
        names.append(str(path))
    return names


@pytest.mark.usefixtures("one_thread")
def test_a_reranker_in_a_loop_of_ones_own(example: Example, files: list[str], capsys: Capture) -> None:
    found = example("torch_reranker").main([f"--train={files[0]}", f"--test={files[1]}", "--epochs=15"])
    assert found["first"] + 0.05 < found["reranked"] <= found["oracle"]
    epochs = [float(line.rsplit(" ", 1)[1]) for line in capsys.readouterr().out.splitlines() if "epoch" in line]
    assert len(epochs) == 15
    assert epochs[-1] > epochs[0]


@pytest.mark.parametrize("loss", ["expected_bleu", "listnet"])
def test_sparse_weights_from_own_lists(example: Example, loss: str, files: list[str], capsys: Capture) -> None:
    found = example("own_lists").main([*files, f"--loss={loss}", "--epochs=20"])
    assert found["reranked"] > found["first"] + 0.05
    assert "bigram=" in capsys.readouterr().out


def test_gains_are_added_to_the_list_of_any_system(example: Example, tmp_path: Path) -> None:
    lines = [
        "0 ||| a dog runs fast ||| F= 1 2 ||| -1",
        "0 ||| a dog ||| F= 1 2 ||| -2",
        "1 ||| so it is now ||| F= 0 1 ||| -1",
    ]
    (tmp_path / "list").write_text("\n".join(lines) + "\n")
    (tmp_path / "ref").write_text("a dog runs fast\nbut that was then\n")
    (tmp_path / "src").write_text("ein hund rennt schnell\nso ist es nun\n")
    given = [str(tmp_path / name) for name in ("list", "ref", "out.jsonl")]
    add_gains, reranker = example("add_gains"), example("torch_reranker")
    add_gains.main([*given, f"--source={tmp_path / 'src'}"])
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [0, 0, 1]
    assert rows[0]["gain"] == pytest.approx(1.0)
    assert rows[0]["gain"] > rows[1]["gain"] > rows[2]["gain"] == 0
    assert rows[0]["scores"] == {"F_0": 1.0, "F_1": 2.0, "total": -1.0}
    with pytest.raises(SystemExit, match=r"out\.jsonl:1: no score log_prob; --score=NAME: F_0, F_1, total"):
        reranker.read(given[2], "log_prob")
    (tmp_path / "ref").write_text("a dog runs fast\n")
    with pytest.raises(SystemExit, match=r"list:3: sentence 1, but 1 reference lines"):
        add_gains.main(given)


def test_lists_without_gains_are_refused_with_what_adds_them(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text('{"id": 0, "src": "s", "hyp": "a", "scores": {"log_prob": -1}}\n')
    given = {"torch_reranker": [f"--train={path}", f"--test={path}"], "own_lists": [str(path), str(path)]}
    for name, arguments in given.items():
        with pytest.raises(SystemExit, match=r"list\.jsonl:1: no gain; .*add_gains\.py"):
            example(name).main(arguments)


def test_the_loss_of_our_own_has_the_right_gradient(example: Example) -> None:
    listnet = example("own_lists").ListNet()
    scores = torch.randn(9, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    gains = torch.linspace(0, 1, 9, dtype=torch.float64)
    offsets = torch.tensor([0, 4, 5, 9])
    assert torch.autograd.gradcheck(lambda s: listnet(s, gains, offsets), (scores,))
    assert torch.autograd.gradgradcheck(lambda s: listnet(s, gains, offsets), (scores,))


def test_translating_and_explaining(
    example: Example,
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    capsys: Capture,
) -> None:
    (tmp_path / "text").write_text("Nirka no holdo va bolko ast.\nGonban va fuspan ri pikum nu.\n")
    example("translate_and_explain").main([str(phrase_run), str(tmp_path / "text"), "--nbest=2"])
    told = capsys.readouterr().out
    assert told.count(" → ") > 4
    assert "sum " in told


def test_every_example_says_what_it_is() -> None:
    for folder in (path for path in EXAMPLES.iterdir() if (path / f"{path.name}.py").exists()):
        told = folder / "README.md"
        assert told.exists(), f"{folder.name} has no README.md"
        assert f"{folder.name}.py" in told.read_text(encoding="utf-8")
