"""Tables of papers from runs made up for it: one line a row, whatever the number of its seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.examples import make_run
from xlate.errors import InputError
from xlate.jobs import report, score
from xlate.jobs.report import write_pages
from xlate.metrics.score import Evaluation, evaluate
from xlate.metrics.significance import PairedTest, paired_runs
from xlate.text.lines import read_lines, write_lines

random = np.random.default_rng(2)
REFERENCES = [" ".join(random.choice(list("abcdefgh"), size=9)) for _ in range(30)]


class Work:
    """What the page asks of a work directory."""

    lowercased = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def references(self, split: str) -> list[list[str]]:
        assert split == "test"
        return [REFERENCES]


def spoiled(share: float) -> list[str]:
    return [" ".join("x" if random.random() < share else word for word in line.split()) for line in REFERENCES]


def figures_of(lines: list[str], *measures: str) -> dict[str, Any]:
    """What a summary holds of an output, the same for both sets."""
    found = evaluate(lines, [REFERENCES], bootstrap=100, measures=measures).to_json()
    return {f"{split}_{key}": value for split in ("dev", "test") for key, value in found.items()}


def row(folder: Path, number: int, seed: int, share: float, **settings: Any) -> Path:
    table = {"page": str(folder.parent / "page.md"), "table": "Table I", "number": number, "label": f"system {number}"}
    identity = {"work": "work/w", "seed": seed, "row": {**table, "paper": "1.0", "cheating": False, "against": 1}}
    lines = spoiled(share)
    figures = figures_of(lines, "bleu")
    path = folder / f"seed{seed}" / f"row{number}"
    make_run(path, {**identity, **settings}, {"finished": True, "P": 0.1 * seed, "seconds": 2.0 * seed, **figures})
    write_lines(path / "test.out", lines)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (report, score):
        monkeypatch.setattr(module, "work_of_run", Work)
    return tmp_path / "runs"


def cells(page: Path) -> dict[str, list[str]]:
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {title: [row[place] for row in rows[1:]] for place, title in enumerate(rows[0])}


def measured(run: Path) -> Evaluation:
    return evaluate(read_lines(run / "test.out"), [REFERENCES], bootstrap=0, measures=["bleu"])


def compared(ours: list[Path], theirs: list[Path]) -> PairedTest:
    return paired_runs(*([measured(run).stats for run in runs] for runs in (ours, theirs)))["bleu"]


def test_one_run_a_row_has_its_interval_and_the_test_of_two_outputs(folder: Path) -> None:
    one, two = row(folder, 1, 1, 0.4), row(folder, 2, 1, 0.3)
    found = cells(*write_pages(folder))
    test = compared([two], [one])
    assert found["test BLEU against"][1] == f"row 1: {test.difference:+.2f} (p = {test.p_randomisation:.4f})"
    around = figures_of(read_lines(two / "test.out"), "bleu")["test_bleu_interval"]
    assert found["test BLEU"][1] == f"{test.score:.2f} ± {around:.2f}"
    assert found["P"] == ["0.1000", "0.1000"]
    assert "seeds" not in (folder.parent / "page.md").read_text()


def test_seeds_of_a_row_are_one_line(folder: Path) -> None:
    # The run that another one starts from has other weights with each seed.
    paths = [
        [row(folder, number, seed, 0.45 - 0.1 * number, base={"weights": f"sum{seed}"}) for seed in (1, 2, 3)]
        for number in (1, 2)
    ]
    for number, seed in ((3, 1), (4, 1), (4, 2)):
        row(folder, number, seed, 0.1)
    found = cells(*write_pages(folder))
    values = [measured(path)["bleu"] for path in paths[1]]
    assert found["row"] == ["1", "2", "3", "4"]
    assert found["test BLEU"][1] == f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f} (3)"
    assert found["P"][:3] == ["0.2000 ± 0.1000 (3)", "0.2000 ± 0.1000 (3)", "0.1000"]
    assert found["seconds"] == ["4", "4", "2", "3"]
    test = compared(paths[1], paths[0])
    assert found["test BLEU against"][1] == (
        f"row 1: {test.difference:+.2f} (p = {test.p_randomisation:.4f}; by sentence {test.p_by_sentence:.4f})"
    )
    # One run of a row is compared with every run of the other; of other rows only the seeds that both have.
    assert "by sentence" in found["test BLEU against"][2]
    assert found["test BLEU against"][3].startswith("row 1: +")
    assert "mean over n seeds" in (folder.parent / "page.md").read_text()


def test_other_settings_are_not_another_seed(folder: Path) -> None:
    row(folder, 1, 1, 0.3, model={"floats": ["lm"]})
    row(folder, 1, 2, 0.3, model={"floats": ["lm", "length"]})
    with pytest.raises(InputError, match=r"differ in more than their seed(?s:.*)model\.floats"):
        write_pages(folder)
    assert not (folder.parent / "page.md").exists()


def test_measures_that_the_rows_name_have_columns(folder: Path) -> None:
    path = row(folder, 1, 1, 0.3)
    assert not any("NIST" in title for title in cells(*write_pages(folder)))
    lines = read_lines(path / "test.out")
    figures = figures_of(lines, "bleu", "nist")
    (path / "summary.json").write_text(json.dumps({"finished": True, **figures}))
    (path / "config.yaml").write_text("measures: [bleu, chrf, ter, nist, lexacc]\n")
    assert not any("NIST" in title for title in cells(*write_pages(folder)))
    (path / "config.yaml").write_text("measures:\n- bleu\n- nist\n")
    shown = cells(*write_pages(folder))
    assert shown["test NIST"] == [f"{figures['test_nist']:.2f} ± {figures['test_nist_interval']:.2f}"]
    assert "test LexAcc" not in shown
