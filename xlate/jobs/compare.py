"""xlate compare: two systems' outputs side by side, whatever made them, as text and as a page of HTML."""

from __future__ import annotations

import html
import io
import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from xlate.array_types import Floats
from xlate.config.schema import CompareConfig
from xlate.errors import InputError
from xlate.jobs.score import read_output, references_for, work_of
from xlate.metrics.differences import Bucket, NgramChange, frequency_buckets, length_buckets, ngram_changes
from xlate.metrics.score import digits_of, tokenizer
from xlate.metrics.significance import PairedTests, paired_runs, sentence_statistics
from xlate.report.tables import Cell, Table, bracketed, lines_html, marked, page, said, table_html
from xlate.text.lines import iterate_lines, read_lines
from xlate.work.directory import WorkDirectory

# Sentences are compared by chrF, since most short ones have a BLEU of 0.
OF_SENTENCES = "chrf"
WIDTH = 100
LEGEND = "Words that the other output does not have there are marked; words that the reference has there are green."


# An example as text and as HTML.
Example = tuple[str, str]


def compare(config: CompareConfig) -> tuple[str, str]:
    """Compares two outputs: what is to be said of them as text of 100 columns, and as a page that needs no other file.

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
    gained, lost = ngram_changes([*map(cut, ours)], [*map(cut, theirs)], references_S, config.top)
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
    better, worse = _examples(scores, config.top, source, references, ours, theirs)
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    head = (
        f"A: {a}\nB: {b}\n{len(ours):,} sentences, {same:,} of them the same in both. "
        "Differences are A - B; of TER less is better."
    )
    examples = [("Sentences where A is better by most", better), ("Sentences where B is better by most", worse)]
    return _rendered(f"A {a}, B {b}", head, tables, examples)


def _rendered(
    title: str, head: str, tables: Sequence[tuple[str, Table]], examples: Sequence[tuple[str, list[Example]]]
) -> tuple[str, str]:
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH)
    print(head, file=stream)
    sections = [("What is compared", said(head))]
    for heading, table in tables:
        print(f"\n{heading}", file=stream)
        if len(table):
            table.print(console)
        else:
            print("  none", file=stream)
        sections.append((heading, table_html(table) if len(table) else said("none")))
    for heading, held in examples:
        print(f"\n{heading}\n", file=stream)
        print("\n\n".join(text for text, _ in held) or "  none", file=stream)
        sections.append((heading, said(LEGEND) + "".join(shown for _, shown in held)))
    return stream.getvalue(), page(title, sections)


def _examples(
    scores: list[Floats],
    top: int,
    source: list[str] | None,
    references: list[list[str]],
    ours: list[str],
    theirs: list[str],
) -> tuple[list[Example], list[Example]]:
    """The sentences in which A is better by most, and worse by most."""
    first_S, second_S = scores
    order = np.argsort(-(first_S - second_S), kind="stable").tolist()

    def example(n: int) -> Example:
        right = [stream[n] for stream in references if stream[n].strip()]
        first, second = float(first_S[n]), float(second_S[n])
        title = f"sentence {n + 1}: {OF_SENTENCES} {first:.1f} against {second:.1f} ({first - second:+.1f})"
        texts, rows = [title], []
        plain = [("source", source[n])] if source is not None else []
        for name, line in [*plain, *(("reference", line) for line in right)]:
            texts += _wrapped(name, line)
            rows.append((name, html.escape(line)))
        for name, line, other in (("A", ours[n], theirs[n]), ("B", theirs[n], ours[n])):
            texts += _wrapped(name, bracketed(line, other))
            rows.append((name, marked(line, other, right[0] if right else None)))
        return "\n".join(texts), f"<h3>{html.escape(title)}</h3>{lines_html(rows)}"

    better = [example(n) for n in order[:top] if first_S[n] > second_S[n]]
    return better, [example(n) for n in order[::-1][:top] if first_S[n] < second_S[n]]


def _wrapped(name: str, line: str) -> list[str]:
    begin = f"  {name:<11}"
    return textwrap.wrap(line, WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin)) or [begin]


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
    rows: list[Sequence[Cell]] = []
    for measure, test in found.tests.items():
        digits, difference = digits_of(measure), (f"{test.difference:+.2f}", f"{test.interval.half_width:.2f}")
        scores = [f"{score:.{digits}f}" for score in (test.score, test.against)]
        rows.append((measure, *scores, *difference, test.p_bootstrap, test.p_randomisation))
    p = {"p (bootstrap)": 4, "p (randomisation)": 4}
    return Table.of({**dict.fromkeys(("measure", "A", "B", "difference", "± (95 %)")), **p}, rows)


def _buckets(buckets: Sequence[Bucket], unit: str) -> Table:
    titles = {"length" if unit == "sentences" else "times": None, unit: 0, "A": 2, "B": 2, "difference": None}
    return Table.of(titles, [(b.name, b.size, b.ours, b.theirs, f"{b.ours - b.theirs:+.2f}") for b in buckets])


def _ngrams(changes: Sequence[NgramChange]) -> Table:
    titles = {"n-gram": None, "A": 0, "B": 0, "references": 0, "difference": None}
    return Table.of(titles, [(" ".join(c.ngram), c.ours, c.theirs, c.wanted, f"{c.difference:+d}") for c in changes])
