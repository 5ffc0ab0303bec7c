"""Tables for people and for programs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.report.examples import make_run
from xlate.cli.sweeps import summary_of
from xlate.report.runs import collect_runs
from xlate.report.tables import Column, SweepTable, Table, sweep_table


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two finished runs that differ in eta, and one that is not finished."""
    for name, eta, bleu, error in (("row1", 0.1, 30.123, 0.25), ("row2", 0.2, 31.5, 0.2)):
        figures = {"finished": True, "dev_bleu": bleu, "dev_bleu_interval": 0.815, "P": error, "seconds": 12.345}
        make_run(tmp_path / name, {"loss": {"eta": eta}, "seed": 1}, figures)
    make_run(tmp_path / "row10", {"loss": {"eta": 0.3}, "seed": 1, "model": {"floats": ["a", "b"]}}, curve=[0.5, 0.4])
    return tmp_path


def test_markdown_shows_what_differs_and_the_best(sweep: Path) -> None:
    assert sweep_table(collect_runs([sweep])).table.markdown() == (
        "| run | loss.eta | model.floats | dev BLEU | P | seconds | state |\n"
        "|---|---|---|---:|---:|---:|---|\n"
        "| row2 | 0.2 | – | **31.50 ± 0.81** | **0.2000** | 12.3 | finished |\n"
        "| row1 | 0.1 | – | 30.12 ± 0.81 | 0.2500 | 12.3 | finished |\n"
        "| row10 | 0.3 | a, b | – | 0.4000 | – | unfinished |\n"
    )


def test_tsv_keeps_all_digits(sweep: Path, tmp_path: Path) -> None:
    written = sweep_table(collect_runs([sweep])).table.write(tmp_path / "out")
    assert [path.name for path in written] == ["report.md", "report.tsv"]
    assert written[1].read_text().splitlines()[::3] == [
        "run\tloss.eta\tmodel.floats\tdev BLEU\tdev BLEU ±\tP\tseconds\tstate",
        "row10\t0.3\ta, b\t\t\t0.4\t\tunfinished",
    ]
    assert "row1\t0.1\t\t30.123\t0.815\t0.25\t12.345\tfinished\n" in written[1].read_text()


def printed(table: Table | SweepTable, **settings: Any) -> str:
    stream = io.StringIO()
    table.print(Console(file=stream, **settings))
    return stream.getvalue()


def test_the_console_shows_every_cell_whole(sweep: Path) -> None:
    found = sweep_table(collect_runs([sweep]))
    text = printed(found)
    for cell in ("loss.eta", "31.50 ± 0.81", "unfinished", "a, b"):
        assert cell in text
    coloured = printed(found, force_terminal=True, color_system="standard", width=200)
    bold = [part.partition("\x1b[0m")[0] for part in coloured.split("\x1b[1m")[1:]]
    assert [text for text in bold if text[0].isdigit()] == ["31.50 ± 0.81", "0.2000"]


def test_many_settings_stand_below_what_fits_into_100_columns(tmp_path: Path) -> None:
    for row in range(4):
        settings = {f"key{n}": "a long value" if n == row else "usual" for n in range(9)}
        kind = {"kind": "x", "only": 1} if row == 3 else {"kind": "y"}
        figures = {"finished": True, **dict.fromkeys(("dev_bleu", "test_bleu", "P", "seconds"), 30.0 + row)}
        make_run(tmp_path / "folder" / f"row{row}", {"loss": settings, "model": kind, "seed": 1}, figures)
    found = sweep_table(collect_runs([tmp_path]))
    lines = printed(found).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[1].split() == ["#", "run", "test", "BLEU", "dev", "BLEU", "P", "seconds"]
    assert lines[3].split() == ["1", "row3", "33.00", "33.00", "33.0000", "33.0"]
    assert "   4  loss.key0=a long value" in lines
    assert "   1  loss.key3=a long value, model.kind=x, model.only=1" in lines
    # The key that only another model has says nothing more than its kind, unless someone chose it.
    assert "model.only" in found.table.markdown()
    assert "model.only" not in sweep_table(collect_runs([tmp_path]), chosen={}).table.markdown()
    shown, usual, others = found.parts()
    assert [column.title for column in shown.columns] == ["run", "test BLEU", "dev BLEU", "P", "seconds"]
    assert usual.startswith("Common settings: loss.key0=usual, loss.key1=usual")
    assert others is not None
    assert others.rows()[3] == [("row0", False), ("loss.key0=a long value", False)]


def test_strange_cells_do_not_break_tables() -> None:
    table = Table([Column("a|b", ["x|y", "[red]"]), Column("n", [None, "t\tb\nc"])])
    assert table.markdown().splitlines()[0] == r"| a\|b | n |"
    assert table.markdown().splitlines()[2] == r"| x\|y | – |"
    assert table.tsv().splitlines()[2] == "[red]\tt b c"
    assert "[red]" in printed(table)
    # The best are all that have the best value, unless all have.
    for values, better, best in (([1.0, 2.0, 2.0], 1, {1, 2}), ([1.0, 2.0, None], -1, {0}), ([1.0, 1.0], 1, set())):
        assert Column("x", values, 2, better=better).best == best


def test_long_names_are_folded_behind_commas() -> None:
    name = "phrase-xbleu,loss.lists.epochs=3,loss.tune.rounds=2,measure_test=true,model=phrase,seed=1,sparse=local"
    text = printed(Table([Column("run", [name]), Column("BLEU", [70.84], 2), Column("P", ["x" * 40])]))
    parts = [line.split()[0] for line in text.splitlines()[3:] if line.strip()]
    assert "".join(parts) == name
    assert len(parts) > 1
    assert all(part.endswith(",") for part in parts[:-1])
    # A part that is longer than the whole line is still printed whole.
    assert printed(Table([Column("run", ["a," + "漢" * 120])])).count("漢") == 120


def test_what_only_one_run_has_is_told_if_someone_chose_it(tmp_path: Path) -> None:
    names = ["source_first_of_the_phrase", "target_last_of_the_phrase"] * 3
    sparse = {"words": ["all", "top80"], "reordering": names, "class_seed": 1}
    kinds = {"phrase": ({"sparse": None}, {"rounds": 3}, None), "sparse": ({"sparse": sparse}, {"rounds": 6}, {"w": 1})}
    for name, (model, tune, base) in kinds.items():
        for seed in (1, 2):
            figures = {"finished": True, "dev_bleu": 30.0 + len(name)}
            make_run(
                tmp_path / name / f"seed={seed}", {"model": model, "tune": tune, "seed": seed, "base": base}, figures
            )
    runs = collect_runs([tmp_path])
    chosen = {
        run.path: {"model.sparse.words": ["all"], "base": f"runs/phrase/seed={run.settings['seed']}"}
        for run in runs
        if run.name.startswith("sparse")
    }
    lines = printed(sweep_table(runs, chosen=chosen)).splitlines()
    assert not any(line.startswith("Common settings") for line in lines)
    assert lines[1].split()[:4] == ["run", "tune.rounds", "model.sparse.words", "base"]
    rows = {line.split()[0]: line.split()[1:6] for line in lines[3:] if line.strip()}
    assert rows["sparse"] == ["6", "all,", "top80", "runs/phrase", "2"]
    assert rows["phrase"] == ["3", "–", "–", "2", "36.00"]


def test_what_most_rows_share_is_usual_and_lists_have_a_bleu_of_their_own(tmp_path: Path) -> None:
    for row, mbr in enumerate(["chrf", "bleu", "chrf"]):
        settings = {"model": {"kind": "rerank", "mbr": mbr, "ngrams": row}, "files": [str(row)] * 9, "seed": 1}
        settings |= {f"longer_names_of_keys_{n}": f"value {row // 2}" for n in range(5)}
        figures = {"finished": True, "heldout_ranked_BLEU": 40.0 + row, "heldout_first_BLEU": 39.0}
        make_run(tmp_path / f"row{row}", settings, figures)
    found = sweep_table(collect_runs([tmp_path]), chosen={})
    text = printed(found)
    assert "files" not in text
    assert text.index("42.00") < text.index("41.00") < text.index("40.00")
    assert "Common settings: model.mbr=chrf, longer_names_of_keys_0=value 0," in text
    assert summary_of(collect_runs([tmp_path]), tmp_path).splitlines()[1].split()[:2] == ["held-out", "BLEU"]
