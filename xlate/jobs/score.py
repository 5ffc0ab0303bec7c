"""xlate score and xlate compare: figures and tests for outputs of systems, or two outputs side by side."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup
from rich.console import Console

from xlate.array_types import Floats
from xlate.config.schema import CompareConfig, ScoreConfig
from xlate.errors import InputError, refuse_if
from xlate.metrics.differences import Bucket, NgramChange, frequency_buckets, length_buckets, ngram_changes
from xlate.metrics.score import Evaluation, evaluate, system_figures, tokenizer, with_column
from xlate.metrics.significance import PairedTest, PairedTests, Resampling, paired_runs
from xlate.models.run_files import located_config
from xlate.report.pages import blocks, bracketed, marked
from xlate.report.run_directory import MARK, RunDirectory
from xlate.report.tables import NOTHING, Column, Table
from xlate.settings import Json
from xlate.text.lines import check_length, iterate_lines, read_lines, read_references
from xlate.text.opening import plain_file
from xlate.work.directory import WorkDirectory


@dataclass(frozen=True)
class Output:
    """The lines of one output, its name and, if a run wrote it, the run's work directory."""

    name: str
    lines: list[str]
    work: WorkDirectory | None = None


# The remedies if a run has not translated a set; runs without a work directory have no such set.
UNTRANSLATED = {
    "test": "train with measure_test=true, or use split=dev",
    "dev": "name the file that xlate translate wrote instead of the run",
}


def read_output(path: str | Path, split: str) -> Output:
    """The lines of a text file, or those that a run wrote for `dev` or `test`.

    Raises:
        InputError: the folder is no run or the run has not translated this set, or the file cannot be read.
    """
    path = Path(path)
    refuse_if(
        not path.exists(),
        "no such run or file",
        "nothing with this name",
        "the folder of a run, or a text file with one translation per line",
        "check the name; xlate train run=RUN writes a run, xlate translate run=RUN output=FILE a text file",
        path,
    )
    if not path.is_dir():
        return Output(path.name, read_lines(path))
    refuse_if(not (path / MARK).exists(), "a folder that is not a run", f"no {MARK}", "a run or a text file", file=path)
    written = path / f"{split}.out"
    if not written.exists():
        raise InputError(
            f"the run has not translated the {split} set",
            "no such file",
            f"the output of {split}",
            UNTRANSLATED[split],
            file=written,
        )
    return Output(path.resolve().name, read_lines(plain_file(written)), work_of_run(path))


def work_of_run(run: Path) -> WorkDirectory | None:
    """The work directory of a run; None if it no longer exists."""
    name = RunDirectory.open(run).identity.get("work")
    if not name or not Path(name).is_dir():
        try:
            name = located_config(run).work
        except InputError:
            return None
    return WorkDirectory(Path(name)) if name and Path(name).is_dir() else None


def work_of(outputs: Sequence[Output]) -> WorkDirectory | None:
    """The first work directory of a run among some outputs."""
    return next((output.work for output in outputs if output.work is not None), None)


def count_of_lines(outputs: Sequence[Output]) -> int:
    """The number of lines that each of the outputs has.

    Raises:
        InputError: the numbers differ (with the names), or there are no outputs.
    """
    count = len(outputs[0].lines)
    if any(len(output.lines) != count for output in outputs):
        raise InputError(
            "outputs of different lengths",
            "lines: " + ", ".join(f"{len(output.lines)} in {output.name}" for output in outputs),
            "translations of the same sentences",
            "translate the same source again, and check that no line was lost",
        )
    if not count:
        raise InputError(
            "nothing to score",
            f"no line in {', '.join(output.name for output in outputs)}",
            "at least one sentence",
            "check that the file is complete",
        )
    return count


def references_for(outputs: Sequence[Output], given: Sequence[str], split: str) -> list[list[str]]:
    """The references given, or those of the work directory of a run, cut to the number of lines.

    Raises:
        InputError: there are neither, or `count_of_lines` refuses the outputs.
    """
    count = count_of_lines(outputs)
    if given:
        return read_references(given, count)
    work = work_of(outputs)
    if work is None:
        raise InputError("nothing to score against", "no ref", "ref=[FILE,…], or a run", "add ref=FILE to the command")
    return [stream[:count] for stream in work.references(split)]


def score(config: ScoreConfig) -> tuple[Json, str]:
    """The figures as plain values, and a readable table.

    Raises:
        InputError: outputs, references or columns that cannot be read or do not fit together.
    """
    refuse_if(not config.hyp, "nothing to score", "no output", "one file or run, or more")
    ours = [read_output(path, config.split) for path in config.hyp]
    theirs = [read_output(path, config.split) for path in config.against]
    # If only columns made elsewhere are requested, no references are needed.
    references: list[list[str]] = []
    if config.measures:
        references = references_for([*ours, *theirs], config.ref, config.split)
    elif config.columns:
        count_of_lines([*ours, *theirs])
    else:
        raise InputError(
            "nothing to measure",
            "measures=[] and no columns",
            "measures, or external columns, or both",
            "leave out measures=[], or set columns=[NAME=FILE,…]",
        )
    found = _evaluated(config, ours, references, config.columns, "columns")
    figures, words = system_figures(found)
    if theirs:
        other = _evaluated(config, theirs, references, config.against_columns, "against_columns")
        others = system_figures(other)[0]
        refuse_if(
            found[0].figures.keys().isdisjoint(other[0].figures),
            "nothing to compare",
            f"columns={list(config.columns)} against_columns={list(config.against_columns)}",
            "a measure, or a column of the same name for both systems",
            "against_columns=[NAME=FILE,…] with the names of columns, or leave out measures=[]",
        )
        tests = paired_runs([run.stats for run in found], [run.stats for run in other], Resampling(seed=config.seed))
        figures |= {"against": others, "paired": tests.to_json()}
        words = f"{words}\n{tests.summary()}"
    elif config.against_columns:
        raise InputError("columns without an output", "against_columns without against", "against=[OUT,…]")
    return figures, words


def _evaluated(
    config: ScoreConfig, outputs: Sequence[Output], references: list[list[str]], columns: Sequence[str], key: str
) -> list[Evaluation]:
    # The files of each name, one per output.
    named: dict[str, list[str]] = {}
    for pair in columns:
        name, sign, file = pair.partition("=")
        if not (name and sign and file):
            raise InputError(f"{key} must name a column and its file", pair, f"{key}=[NAME=FILE,…]")
        named.setdefault(name, []).append(file)
    for name, files in named.items():
        if len(files) != len(outputs):
            raise InputError(
                f"{key} needs one file per output",
                f"{name}: {len(files)} files for {len(outputs)} outputs",
                "as many files as outputs",
            )
    settings = {key: getattr(config, key) for key in ("lowercase", "tokenize", "bootstrap", "seed", "measures")}
    runs = []
    for number, output in enumerate(outputs):
        run = evaluate(output.lines, references, **settings)
        for name, files in named.items():
            run = with_column(run, name, files[number], config.bootstrap, config.seed)
        runs.append(run)
    return runs


# Sentences are compared by chrF, since most short ones have a BLEU of 0.
OF_SENTENCES = "chrf"
WIDTH = 100
LEGEND = "Words that differ from the other output are marked; words that match the reference are green."


# An example as text and as HTML.
Example = tuple[str, Markup]
DIFFERENCE = "B − A"
# Differences with a smaller p are called significant.
SIGNIFICANT = 0.05


def compare(config: CompareConfig) -> tuple[str, str]:
    """Compares an old output A with a new one B; returns a text of 100 columns, and a page that needs no other file.

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
    settings: Json = {"lowercase": config.lowercase, "tokenize": config.tokenize, "bootstrap": 0}
    stats, their_stats = (
        evaluate(lines, references, measures=("bleu", "chrf", "ter"), **settings).stats for lines in (ours, theirs)
    )
    cut = tokenizer(config.tokenize, config.lowercase)
    references_S = [[cut(line) for line in lines] for lines in zip(*references, strict=True)]
    gained, lost = ngram_changes([*map(cut, theirs)], [*map(cut, ours)], references_S, config.top)
    by_length = length_buckets(stats["bleu"], their_stats["bleu"], [lines[0] for lines in references_S])
    tables = [
        ("Paired test", _tests(paired_runs([their_stats], [stats]))),
        ("BLEU by words of the reference", _buckets(by_length, "sentences")),
    ]
    by_frequency = _by_frequency(config, work, [ours, theirs, references[0]])
    if by_frequency is not None:
        tables.append(("F1 of words by their frequency in the training text", _buckets(by_frequency, "words")))
    tables += [
        ("N-grams that B has right more often", _ngrams(gained)),
        ("N-grams that A has right more often", _ngrams(lost)),
    ]
    scores = [held[OF_SENTENCES].scores(held[OF_SENTENCES].values_SK) for held in (stats, their_stats)]
    worse, better = _examples(scores, config.top, source, references, ours, theirs)
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    head = (
        f"A (old): {a}\nB (new): {b}\n{len(ours):,} sentences, {same:,} of them identical. For TER, lower is "
        f"better. ± is half the 95 % bootstrap interval of the difference; p is by approximate randomisation. A "
        f"difference is significant if p < {SIGNIFICANT}, which is not adjusted for the number of measures."
    )
    examples = [("Sentences where B is most ahead", better), ("Sentences where A is most ahead", worse)]
    return _rendered(f"A {a}, B {b}", head, tables, examples)


def _rendered(
    title: str, head: str, tables: Sequence[tuple[str, Table]], examples: Sequence[tuple[str, list[Example]]]
) -> tuple[str, str]:
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH)
    print("\n".join(textwrap.fill(line, WIDTH) for line in head.splitlines()), file=stream)
    sections = [("Systems", blocks.said(head))]
    for heading, table in tables:
        print(f"\n{heading}", file=stream)
        if len(table):
            table.print(console)
        else:
            print("  none", file=stream)
        sections.append((heading, blocks.table(table) if len(table) else blocks.said("none")))
    for heading, held in examples:
        print(f"\n{heading}\n", file=stream)
        print("\n\n".join(text for text, _ in held) or "  none", file=stream)
        sections.append((heading, blocks.said(LEGEND) + Markup().join(shown for _, shown in held)))
    return stream.getvalue(), blocks.page(title, sections)


def _examples(
    scores: list[Floats],
    top: int,
    source: list[str] | None,
    references: list[list[str]],
    ours: list[str],
    theirs: list[str],
) -> tuple[list[Example], list[Example]]:
    """The sentences in which A is best and worst compared with B."""
    first_S, second_S = scores
    order = np.argsort(-(first_S - second_S), kind="stable").tolist()

    def example(n: int) -> Example:
        right = [stream[n] for stream in references if stream[n].strip()]
        first, second = float(first_S[n]), float(second_S[n])
        title = f"sentence {n + 1}: {OF_SENTENCES} {first:.1f} → {second:.1f} ({second - first:+.1f})"
        texts: list[str] = [title]
        rows: list[tuple[str, str]] = []
        plain = [("source", source[n])] if source is not None else []
        for name, line in [*plain, *(("reference", line) for line in right)]:
            texts += _wrapped(name, line)
            rows.append((name, line))
        for name, line, other in (("A", ours[n], theirs[n]), ("B", theirs[n], ours[n])):
            texts += _wrapped(name, bracketed(line, other))
            rows.append((name, marked(line, other, right[0] if right else None)))
        return "\n".join(texts), Markup("<h3>{}</h3>").format(title) + blocks.lines(rows)

    better = [example(n) for n in order[:top] if first_S[n] > second_S[n]]
    return better, [example(n) for n in order[::-1][:top] if first_S[n] < second_S[n]]


def _wrapped(name: str, line: str) -> list[str]:
    begin = f"  {name:<11}"
    return textwrap.wrap(line, WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin)) or [begin]


def _source(config: CompareConfig, work: WorkDirectory | None, count: int) -> list[str] | None:
    """The source lines: those given, or those of a run's work directory if their number fits."""
    if config.src is not None:
        lines = read_lines(config.src)
        check_length(config.src, len(lines), count, "a source")
        return lines
    if work is None or not work.has_split(config.split):
        return None
    lines = work.source_lines(config.split)[:count]
    return lines if len(lines) == count else None


def _by_frequency(
    config: CompareConfig, work: WorkDirectory | None, texts: Sequence[Sequence[str]]
) -> list[Bucket] | None:
    """Buckets by word frequency: words as in the run's training text or, for a plain text, as BLEU compares them,
    lowercased; None if there is no training text to count in.
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
    """The test of each measure: of B against A, with the better one."""
    tests = list(found.tests.values())
    ahead = [test.difference * (-1 if measure == "ter" else 1) for measure, test in found.tests.items()]
    around = [test.interval.half_width for test in tests]
    return Table(
        [
            Column("measure", list(found.tests)),
            Column("A", [test.against for test in tests], 2),
            Column("B", [test.score for test in tests], 2),
            Column(DIFFERENCE, [test.difference for test in tests], 2, around, sign="+"),
            Column("p", [test.p_randomisation for test in tests], 4),
            Column("better", [_better(value) for value in ahead]),
            Column("significant", ["yes" if test.p_randomisation < SIGNIFICANT else "no" for test in tests]),
        ]
    )


def paired_columns(tests: Sequence[PairedTest | None]) -> list[Column]:
    """The columns of tests of BLEU, one per row: the score, how much it is above the other system's, and p. A row may
    have no test.
    """
    nothing = (None, None, None, None)
    rows = [
        nothing if test is None else (test.score, test.difference, test.interval.half_width, test.p_by_sentence)
        for test in tests
    ]
    score, difference, interval, p = ([row[place] for row in rows] for place in range(4))
    return [
        Column("BLEU", score, 2, better=1),
        Column("difference", difference, 2, interval, sign="+"),
        Column("p", p, 4),
    ]


def _better(ahead: float) -> str:
    """The better system, given by how much B is ahead."""
    return "B" if ahead > 0 else "A" if ahead < 0 else NOTHING


def _buckets(buckets: Sequence[Bucket], unit: str) -> Table:
    differences = [bucket.theirs - bucket.ours for bucket in buckets]
    return Table(
        [
            Column("length" if unit == "sentences" else "times", [bucket.name for bucket in buckets]),
            Column(unit, [bucket.size for bucket in buckets], 0),
            Column("A", [bucket.ours for bucket in buckets], 2),
            Column("B", [bucket.theirs for bucket in buckets], 2),
            Column(DIFFERENCE, differences, 2, sign="+"),
            Column("better", [_better(difference) for difference in differences]),
        ]
    )


def _ngrams(changes: Sequence[NgramChange]) -> Table:
    return Table(
        [
            Column("n-gram", [" ".join(change.ngram) for change in changes]),
            Column("A", [change.theirs for change in changes], 0),
            Column("B", [change.ours for change in changes], 0),
            Column("references", [change.wanted for change in changes], 0),
            Column(DIFFERENCE, [change.difference for change in changes], 0, sign="+"),
        ]
    )
