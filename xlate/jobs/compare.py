"""xlate compare: two systems' outputs side by side, whatever made them, as text and as a page of HTML."""

from __future__ import annotations

import html
import io
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from xlate.array_types import Floats
from xlate.config.schema import CompareConfig
from xlate.errors import InputError
from xlate.jobs.score import read_output, references_for, work_of
from xlate.metrics.differences import Bucket, NgramChange, frequency_buckets, length_buckets, ngram_changes
from xlate.metrics.score import digits_of, tokenizer
from xlate.metrics.significance import PairedTests, paired_runs, sentence_statistics
from xlate.report.html_page import bracketed, lines_html, marked, page, said, table_html
from xlate.report.tables import Column, Table
from xlate.text.lines import iterate_lines, read_lines
from xlate.work.directory import WorkDirectory

# Sentences are compared by chrF, since most short ones have a BLEU of 0.
OF_SENTENCES = "chrf"
WIDTH = 100
LEGEND = "Words that the other output does not have there are marked; words that the reference has there are green."


@dataclass(frozen=True)
class Example:
    """A sentence in both outputs: a title, its first reference, and lines, each with its name and, of an output, the
    line of the other one.
    """

    title: str
    reference: str | None
    lines: list[tuple[str, str, str | None]]


@dataclass(frozen=True)
class Comparison:
    """What is to be said of two outputs: what is compared, then tables and examples, each under a heading."""

    title: str
    head: str
    tables: list[tuple[str, Table]]
    examples: list[tuple[str, list[Example]]]


def compare(config: CompareConfig) -> Comparison:
    """Compares the two outputs that a configuration names.

    Raises:
        InputError: files that cannot be read or do not fit together, or no references.
    """
    outputs = [read_output(path, config.split) for path in (config.a, config.b)]
    references = references_for(outputs, config.ref, config.split)
    a, b = (output.name for output in outputs)
    if a == b:
        a, b = config.a, config.b
    ours, theirs = (output.lines for output in outputs)
    work = work_of(outputs)
    source = _source(config, work, len(ours))
    stats, their_stats = (
        sentence_statistics(lines, references, lowercase=config.lowercase, tokenize=config.tokenize)
        for lines in (ours, theirs)
    )
    cut = tokenizer(config.tokenize, config.lowercase)
    references_S = [[cut(line) for line in lines] for lines in zip(*references, strict=True)]
    gained, lost = ngram_changes([cut(line) for line in ours], [cut(line) for line in theirs], references_S, config.top)
    by_length = length_buckets(stats["bleu"], their_stats["bleu"], [lines[0] for lines in references_S])
    tables = [
        ("Paired test", _tests(paired_runs([stats], [their_stats]))),
        ("BLEU by words of the reference", _buckets(by_length, "sentences")),
    ]
    by_frequency = _by_frequency(config, work, [ours, theirs, references[0]])
    if by_frequency is not None:
        tables.append(("F1 of words by how often the training text has them", _buckets(by_frequency, "words")))
    tables += [
        ("N-grams that A has right more often", _ngrams(gained)),
        ("N-grams that B has right more often", _ngrams(lost)),
    ]
    scores = [held[OF_SENTENCES].scores(held[OF_SENTENCES].values_SK) for held in (stats, their_stats)]
    better, worse = _examples(scores, config.top, source, references, [ours, theirs])
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    head = (
        f"A: {a}\nB: {b}\n{len(ours):,} sentences, {same:,} of them the same in both. "
        "Differences are A - B; of TER less is better."
    )
    examples = [("Sentences where A is better by most", better), ("Sentences where B is better by most", worse)]
    return Comparison(f"A {a}, B {b}", head, tables, examples)


def comparison_text(found: Comparison) -> str:
    """The comparison as text of 100 columns."""
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH)
    print(found.head, file=stream)
    for heading, table in found.tables:
        print(f"\n{heading}", file=stream)
        if len(table):
            table.print(console)
        else:
            print("  none", file=stream)
    for heading, examples in found.examples:
        print(f"\n{heading}\n", file=stream)
        print("\n\n".join(map(_example_text, examples)) or "  none", file=stream)
    return stream.getvalue()


def comparison_html(found: Comparison) -> str:
    """The comparison as a page that needs no other file."""
    sections = [("What is compared", said(found.head))]
    sections += [(heading, table_html(table) if len(table) else said("none")) for heading, table in found.tables]
    sections += [(heading, said(LEGEND) + "".join(map(_example_html, held))) for heading, held in found.examples]
    return page(found.title, sections)


def _examples(
    scores: list[Floats],
    top: int,
    source: list[str] | None,
    references: list[list[str]],
    outputs: list[list[str]],
) -> tuple[list[Example], list[Example]]:
    """The sentences in which A is better by most, and worse by most."""
    first_S, second_S = scores
    ours, theirs = outputs
    order = np.argsort(-(first_S - second_S), kind="stable").tolist()

    def example(n: int) -> Example:
        right = [stream[n] for stream in references if stream[n].strip()]
        first, second = float(first_S[n]), float(second_S[n])
        title = f"sentence {n + 1}: {OF_SENTENCES} {first:.1f} against {second:.1f} ({first - second:+.1f})"
        lines: list[tuple[str, str, str | None]] = [] if source is None else [("source", source[n], None)]
        lines += [("reference", line, None) for line in right]
        lines += [("A", ours[n], theirs[n]), ("B", theirs[n], ours[n])]
        return Example(title, right[0] if right else None, lines)

    better = [example(n) for n in order[:top] if first_S[n] > second_S[n]]
    return better, [example(n) for n in order[::-1][:top] if first_S[n] < second_S[n]]


def _source(config: CompareConfig, work: WorkDirectory | None, count: int) -> list[str] | None:
    """The source lines: those given, or those of the work directory of a run, if it has as many."""
    if config.src is not None:
        lines = read_lines(config.src)
        if len(lines) != count:
            seen = f"{len(lines)} lines of source and {count} translations"
            raise InputError("a source of another length", file=config.src, seen=seen, expected="as many lines")
        return lines
    if work is None or not work.has_split(config.split):
        return None
    lines = work.source_lines(config.split)[:count]
    return lines if len(lines) == count else None


def _by_frequency(
    config: CompareConfig, work: WorkDirectory | None, texts: Sequence[Sequence[str]]
) -> list[Bucket] | None:
    """Words as the training text of the run has them, or, in a plain text, as BLEU compares them, lowercased; None when
    there is no training text to count in.
    """
    if config.train is not None:
        cut = tokenizer(config.tokenize, True)
        counts = Counter(word for line in iterate_lines(config.train) for word in cut(line))
    elif work is not None and (work.path / "corpus" / "train.target.gz").exists():
        cut = work.target_tokens
        counts = Counter(word for line in work.training_tokens("target") for word in line)
    else:
        return None
    ours, theirs, wanted = ([cut(line) for line in lines] for lines in texts)
    return frequency_buckets(ours, theirs, wanted, counts)


def _tests(found: PairedTests) -> Table:
    """Digits differ from measure to measure, so figures are texts."""
    tests = found.tests.values()
    digits = [digits_of(measure) for measure in found.tests]
    return Table(
        [
            Column("measure", list(found.tests)),
            Column("A", [f"{test.score:.{places}f}" for test, places in zip(tests, digits, strict=True)]),
            Column("B", [f"{test.against:.{places}f}" for test, places in zip(tests, digits, strict=True)]),
            Column("difference", [f"{test.difference:+.2f}" for test in tests]),
            Column("± (95 %)", [f"{test.interval.half_width:.2f}" for test in tests]),
            Column("p (bootstrap)", [test.p_bootstrap for test in tests], 4),
            Column("p (randomisation)", [test.p_randomisation for test in tests], 4),
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


def _example_text(example: Example) -> str:
    lines = [example.title]
    for name, line, other in example.lines:
        begin, shown = f"  {name:<11}", line if other is None else bracketed(line, other)
        lines += textwrap.wrap(shown, WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin)) or [begin]
    return "\n".join(lines)


def _example_html(example: Example) -> str:
    rows = [
        (name, html.escape(line) if other is None else marked(line, other, example.reference))
        for name, line, other in example.lines
    ]
    return f"<h3>{html.escape(example.title)}</h3>{lines_html(rows)}"
