"""The commands of xlate, and what each does: `run_NAME` runs the command NAME.

A command's imports happen when it runs, so that help and other commands load faster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xlate.cli import nbest
from xlate.cli.arguments import action_of
from xlate.cli.nbest import as_json
from xlate.cli.streams import arriving_lines, write_answers
from xlate.cli.translate import translate
from xlate.errors import InputError
from xlate.settings import Json

if TYPE_CHECKING:
    from xlate.config.schema import (
        AerCommandConfig,
        AlignCommandConfig,
        CompareConfig,
        DemoConfig,
        DictionaryConfig,
        EventsConfig,
        ExportConfig,
        ImportConfig,
        InspectConfig,
        LmCommandConfig,
        PackConfig,
        PhrasesCommandConfig,
        PrepareConfig,
        ReportConfig,
        ScoreConfig,
        ServeConfig,
        TagConfig,
        TrainConfig,
    )


class Command(NamedTuple):
    """A command: its description, the function that runs it, and the values of its key `action`."""

    words: str
    run: Callable[[Any], None]
    actions: Mapping[str, Callable[[Any], Json]] = {}


# The number of instances in memory while a store is written as text.
INSTANCES_AT_A_TIME = 4096


def run_prepare(config: PrepareConfig) -> None:
    """Prepares a work directory; see `xlate.jobs.prepare.prepare`."""
    from xlate.jobs.prepare import prepare

    print(prepare(config).path)


def run_train(config: TrainConfig) -> None:
    """Trains a run, or resumes an interrupted one."""
    from xlate.cli.train import run

    run(config)


def run_serve(config: ServeConfig) -> None:
    """Answers until it is stopped."""
    try:
        from xlate.jobs.serve import serve
    except ModuleNotFoundError as error:
        if error.name != "waitress":
            raise
        raise InputError(
            "the HTTP server waitress is not installed",
            expected="the package waitress",
            remedy='pip install "xlate[serve]"',
        ) from error
    serve(config)


def run_score(config: ScoreConfig) -> None:
    """Prints the figures as JSON on standard output and a short table on standard error; `out=` writes the JSON."""
    from xlate.jobs.score import score
    from xlate.text.lines import write_file

    figures, words = score(config)
    text = as_json(figures)
    if config.out not in (None, "-"):
        write_file(config.out, text + "\n")
    # Nothing is lost if the table cannot be printed.
    print(text, flush=True)
    print(words, file=sys.stderr)


def run_compare(config: CompareConfig) -> None:
    """Prints the comparison; with `out=` also writes it as `compare.txt` and `compare.html` into a folder."""
    from xlate.jobs.score import compare
    from xlate.text.lines import write_file

    text, page = compare(config)
    out = config.out
    written = [] if out is None else [Path(out) / "compare.txt", Path(out) / "compare.html"]
    # Files come first: a reader of the output may stop at any line.
    for path, shown in zip(written, (text, page), strict=False):
        write_file(path, shown)
    print(text, end="")
    for path in written:
        print(path)


def run_import(config: ImportConfig) -> None:
    """Makes a run of a system and prints its figures as JSON."""
    from xlate.jobs.imports import import_system

    print(as_json(import_system(config)))


def run_export(config: ExportConfig) -> None:
    """Writes a run of the phrase model as a Moses system and prints what was written, as JSON."""
    from xlate.jobs.moses_export import export_moses

    print(as_json(export_moses(config)))


def run_pack(config: PackConfig) -> None:
    """Packs a run and prints the name of the file or folder; its size goes to standard error."""
    from xlate.jobs.pack import pack

    made = pack(config)
    words = f"{made['files']} files, {made['bytes'] / 1e6:.1f} MB, checked by {made['sentences']} sentences"
    if made["folder"] != made["out"]:
        words += f"; unpacked, it is the folder {made['folder']}"
    print(words, file=sys.stderr)
    print(made["out"])


def run_inspect(config: InspectConfig) -> None:
    """Prints what a run learned to standard output."""
    from rich.console import Console

    from xlate.jobs.inspect import inspect

    console = Console()
    inspect(config, console if console.is_terminal else Console(width=100))


def run_report(config: ReportConfig) -> None:
    """Prints the table of all runs found under the folders given and writes it, with plots and a page."""
    from xlate.jobs.report import report

    for path in report(config):
        print(path)


def run_demo(config: DemoConfig) -> None:
    """Prepares the built-in corpus, trains each kind of system, translates the test set, and prints the results."""
    from xlate.jobs.demo import demo

    demo(config)


def run_align(config: AlignCommandConfig) -> None:
    """Aligns the words of two files line by line and writes Pharaoh links; a pair with an empty side gets an empty
    line.
    """
    from xlate.align.aligner import align, align_with
    from xlate.align.links import write_links
    from xlate.text.lines import check_sides, iterate_lines
    from xlate.text.tokens import split_tokens
    from xlate.text.vocabulary import TokenText
    from xlate.work.stages import cores

    paths = config.source, config.target
    source, target = (TokenText.of(map(split_tokens, iterate_lines(path))) for path in paths)
    check_sides(config.source, len(source), config.target, len(target))
    chosen = {name: getattr(config, name) for name in ("method", "symmetrization", "sample", "save")}
    given = {name: value for name, value in chosen.items() if value is not None}
    if config.load is None:
        links = align(source, target, seed=config.seed, side_by_side=cores() > 1, **given)
    else:
        symmetrization = given.pop("symmetrization", None)
        if given:
            raise InputError(
                "a trained model is used as it is",
                " ".join(f"{name}={value}" for name, value in given.items()),
                "only symmetrization= beside load=",
                "leave them out",
            )
        links = align_with(config.load, source, target, symmetrization, side_by_side=cores() > 1)
    write_links(config.out, links)


def run_lm(config: LmCommandConfig) -> None:
    """Estimates a modified Kneser-Ney model, writes it as ARPA and, when asked, prints the perplexity of a text."""
    from xlate.lm.arpa import write_arpa
    from xlate.lm.kneser_ney import estimate
    from xlate.text.lines import read_lines
    from xlate.text.tokens import split_tokens
    from xlate.text.vocabulary import EncodedText, Vocabulary, check_reserved

    sentences = []
    for path in config.text:
        words = [split_tokens(line) for line in read_lines(path)]
        check_reserved(words, [path])
        sentences += words
    vocabulary = Vocabulary.build(sentences)
    arpa = estimate(EncodedText.encode(sentences, vocabulary), vocabulary, config.order)
    write_arpa(config.out, arpa)
    if config.perplexity is not None:
        from xlate.lm.model import NgramModel, perplexity

        print(perplexity(NgramModel.from_arpa(arpa), [split_tokens(line) for line in read_lines(config.perplexity)]))


def run_phrases(config: PhrasesCommandConfig) -> None:
    """Extracts and scores the phrase pairs of two tokenised files and their links, in Moses format."""
    from xlate.align.lexical import lexical_table
    from xlate.align.links import read_links
    from xlate.formats.moses_table import write_phrase_table
    from xlate.phrases.extract import extract_phrases
    from xlate.phrases.table import score_phrases
    from xlate.text.lines import check_sides, read_lines
    from xlate.text.tokens import split_tokens
    from xlate.text.vocabulary import EncodedText, Vocabulary, check_reserved

    paths = config.source, config.target
    source, target = ([split_tokens(line) for line in read_lines(path)] for path in paths)
    check_sides(config.source, len(source), config.target, len(target))
    check_reserved(source, [config.source])
    check_reserved(target, [config.target])
    links = read_links(config.links, [len(s) for s in source], [len(t) for t in target])
    vocabularies = Vocabulary.build(source), Vocabulary.build(target)
    texts = EncodedText.encode(source, vocabularies[0]), EncodedText.encode(target, vocabularies[1])
    counts = extract_phrases(*texts, links, max_length=config.max_length)
    table = score_phrases(counts, lexical_table(*texts, links))
    write_phrase_table(config.out, table, *vocabularies)


def run_aer(config: AerCommandConfig) -> None:
    """Prints the alignment error rate, precision and recall of links against gold links."""
    from xlate.align.links import alignment_error_rate, read_gold, read_hypothesis_links

    gold = read_gold(config.gold)
    links = read_hypothesis_links(config.links, swapped=config.swapped)
    print(alignment_error_rate(links, gold))


def run_dictionary(config: DictionaryConfig) -> None:
    """Writes the dictionary of a work directory's word links, and prints its size on standard error."""
    import json

    from xlate.align.lexical import WordTranslation, dictionary, lexical_table
    from xlate.text.lines import write_lines
    from xlate.work.directory import WorkDirectory

    work = WorkDirectory(Path(config.work))
    table = lexical_table(*work.encoded, work.links, decimals=None)
    filters = ("least_count", "least_probability", "least_significance", "words_only", "most")
    given = {name: getattr(config, name) for name in filters}
    found = dictionary(table, work.source_vocabulary, work.target_vocabulary, **given)
    if config.out.removesuffix(".gz").endswith(".jsonl"):
        records = ({"source": word, "targets": [one._asdict() for one in same]} for word, same in found.items())
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
    else:
        rows = ((word, *one) for word, same in found.items() for one in same)
        lines = ["\t".join(["# source", *WordTranslation._fields])]
        lines += [
            "\t".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row) for row in rows
        ]
    write_lines(config.out, lines)
    print(f"{sum(map(len, found.values()))} pairs of {len(found)} source words", file=sys.stderr)


def run_tag(config: TagConfig) -> None:
    """Tokenises and tags standard input (or `input=`) line by line, to standard output (or `output=`)."""
    from xlate.text.classes import open_tagger, tagged_line
    from xlate.text.tokens import Preprocessor

    preprocessor = Preprocessor(config.language, tokenize=config.tokenize)
    tagger = open_tagger(config.language, config.classes)
    lines = (tagged_line(line, preprocessor, tagger) for batch in arriving_lines(config.input) for line in batch)
    write_answers(lines, config.output, config.input)


def run_events(config: EventsConfig) -> None:
    """Does what `action` says and prints how much was written, as JSON."""
    print(as_json(action_of(COMMANDS["events"].actions, config.action)(config)))


def export_events(config: EventsConfig) -> Json:
    """Writes a candidate store as datapoint text.

    Raises:
        InputError: no store, or one whose candidates are not simply true or false.
    """
    from xlate.arrays.ranges import pieces
    from xlate.candidates.datapoints import write_datapoints
    from xlate.candidates.store import CandidateStore

    store = CandidateStore.open(config.events)
    places = pieces(len(store), INSTANCES_AT_A_TIME)
    write_datapoints(config.out, (store.batch(range(at.start, at.stop)) for at in places))
    return {"text": config.out, "datapoints": len(store), "candidates": store.arrays.candidates}


def import_events(config: EventsConfig) -> Json:
    """Writes datapoint text as a candidate store; its dense features are called `dense1` and so on.

    Raises:
        InputError: a line that is not of this form.
    """
    from xlate.candidates.datapoints import read_datapoints
    from xlate.candidates.store import StoreWriter

    batch = read_datapoints(config.events)
    names = [f"dense{number}" for number in range(1, batch.dense_CD.shape[1] + 1)]
    sparse = int(batch.part_ids_N.max()) + 1 if len(batch.part_ids_N) else 0
    with StoreWriter(config.out, names, sparse, metadata={"text": config.events}) as writer:
        writer.append(batch)
    return {"store": config.out, "datapoints": len(batch), "candidates": batch.candidates, "sparse": sparse}


# In the order of the help.
COMMANDS = {
    "prepare": Command("make a work directory from parallel text: tokens, alignments, language model", run_prepare),
    "train": Command("learn a run from a work directory or from n-best lists", run_train),
    "translate": Command("translate standard input with a run", translate),
    "serve": Command("serve a run over HTTP: JSON, and a page that shows translations with their phrases", run_serve),
    "score": Command("measure outputs with BLEU, chrF, TER, NIST and LexAcc; test two systems", run_score),
    "compare": Command("show the outputs of two systems side by side, with paired tests", run_compare),
    "import": Command("make a run from a system of Moses, Joshua or cdec", run_import),
    "export": Command("write a run of the phrase model for Moses: tables, weights, moses.ini", run_export),
    "pack": Command("pack a run and everything it needs into one file or folder for other machines", run_pack),
    "inspect": Command("show what a run learned, in words, or explain a translation", run_inspect),
    "report": Command("make a table and plots of one or more runs", run_report),
    "demo": Command("run the full pipeline on the built-in corpus", run_demo),
    "align": Command("align the words of two plain files", run_align),
    "lm": Command("build an n-gram language model from a plain file", run_lm),
    "phrases": Command("build a phrase table from two plain files and their links", run_phrases),
    "nbest": Command("check, rank, score or convert n-best lists of any system", nbest.run, nbest.ACTIONS),
    "events": Command(
        "export candidate stores to text, or import them from text",
        run_events,
        {"export": export_events, "import": import_events},
    ),
    "aer": Command("compute the alignment error rate against gold links", run_aer),
    "dictionary": Command("make a bilingual dictionary from the word links of a work directory", run_dictionary),
    "tag": Command("tokenise plain lines and add parts of speech", run_tag),
}
