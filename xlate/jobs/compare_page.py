"""What xlate compare found, as text and as a page of HTML."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Sequence

from rich.console import Console

from xlate.jobs.compare import OF_SENTENCES, Comparison, Example
from xlate.metrics.differences import Bucket, NgramChange
from xlate.metrics.score import digits_of
from xlate.report.html_page import bracketed, lines_html, marked, page, said, table_html
from xlate.report.tables import Column, Table

WIDTH = 100
LEGEND = "Words that the other output does not have there are {how}; words that the reference has there are green."


def comparison_text(found: Comparison) -> str:
    """The comparison as text of 100 columns."""
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH)
    print(_head(found), file=stream)
    for heading, table in _tables(found):
        print(f"\n{heading}", file=stream)
        if len(table):
            table.print(console)
        else:
            print("  none", file=stream)
    for heading, examples in _examples(found):
        print(f"\n{heading}\n", file=stream)
        print("\n\n".join(_example_text(example) for example in examples) or "  none", file=stream)
    return stream.getvalue()


def comparison_html(found: Comparison) -> str:
    """The comparison as a page that needs no other file."""
    sections = [("What is compared", said(_head(found)))]
    sections += [(heading, table_html(table) if len(table) else said("none")) for heading, table in _tables(found)]
    sections += [
        (heading, said(LEGEND.format(how="marked")) + "".join(map(_example_html, examples)) or said("none"))
        for heading, examples in _examples(found)
    ]
    return page(f"A {found.names[0]}, B {found.names[1]}", sections)


def _head(found: Comparison) -> str:
    return (
        f"A: {found.names[0]}\nB: {found.names[1]}\n"
        f"{found.sentences:,} sentences, {found.same:,} of them the same in both. "
        "Differences are A - B; of TER less is better."
    )


def _tables(found: Comparison) -> list[tuple[str, Table]]:
    tables = [
        ("Paired test", _tests(found)),
        ("BLEU by words of the reference", _buckets(found.by_length, "sentences")),
    ]
    if found.by_frequency is not None:
        heading = "F1 of words by how often the training text has them"
        tables.append((heading, _buckets(found.by_frequency, "words")))
    return [
        *tables,
        ("N-grams that A has right more often", _ngrams(found.gained)),
        ("N-grams that B has right more often", _ngrams(found.lost)),
    ]


def _examples(found: Comparison) -> list[tuple[str, list[Example]]]:
    return [("Sentences where A is better by most", found.better), ("Sentences where B is better by most", found.worse)]


def _tests(found: Comparison) -> Table:
    """Digits differ from measure to measure, so figures are texts."""
    tests = found.tests.tests
    shown = {measure: f".{digits_of(measure)}f" for measure in tests}
    return Table(
        [
            Column("measure", list(tests)),
            Column("A", [f"{test.score:{shown[m]}}" for m, test in tests.items()]),
            Column("B", [f"{test.against:{shown[m]}}" for m, test in tests.items()]),
            Column("difference", [f"{test.difference:+.2f}" for test in tests.values()]),
            Column("± (95 %)", [f"{test.interval.half_width:.2f}" for test in tests.values()]),
            Column("p (bootstrap)", [test.p_bootstrap for test in tests.values()], 4),
            Column("p (randomisation)", [test.p_randomisation for test in tests.values()], 4),
        ]
    )


def _buckets(buckets: Sequence[Bucket], unit: str) -> Table:
    return Table(
        [
            Column("length" if unit == "sentences" else "times", [bucket.name for bucket in buckets]),
            Column(unit, [bucket.size for bucket in buckets], 0),
            Column("A", [bucket.ours for bucket in buckets], 2),
            Column("B", [bucket.theirs for bucket in buckets], 2),
            Column("difference", [f"{bucket.ours - bucket.theirs:+.2f}" for bucket in buckets]),
        ]
    )


def _ngrams(changes: Sequence[NgramChange]) -> Table:
    return Table(
        [
            Column("n-gram", [" ".join(change.ngram) for change in changes]),
            Column("A", [change.ours for change in changes], 0),
            Column("B", [change.theirs for change in changes], 0),
            Column("references", [change.wanted for change in changes], 0),
            Column("difference", [f"{change.difference:+d}" for change in changes]),
        ]
    )


def _score(example: Example) -> str:
    ours, theirs = example.scores
    return f"sentence {example.number}: {OF_SENTENCES} {ours:.1f} against {theirs:.1f} ({ours - theirs:+.1f})"


def _example_text(example: Example) -> str:
    rows = [("source", example.source)] if example.source is not None else []
    rows += [("reference", line) for line in example.references]
    rows += [("A", bracketed(example.ours, example.theirs)), ("B", bracketed(example.theirs, example.ours))]
    lines = [_score(example)]
    for name, line in rows:
        begin = f"  {name:<11}"
        lines += textwrap.wrap(line or "", WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin)) or [begin]
    return "\n".join(lines)


def _example_html(example: Example) -> str:
    reference = example.references[0] if example.references else None
    rows = [("source", html.escape(example.source))] if example.source is not None else []
    rows += [("reference", html.escape(line)) for line in example.references]
    rows.append(("A", marked(example.ours, example.theirs, reference)))
    rows.append(("B", marked(example.theirs, example.ours, reference)))
    return f"<h3>{html.escape(_score(example))}</h3>{lines_html(rows)}"
