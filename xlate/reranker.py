"""Ranking n-best lists from Python: `xlate.Reranker`, and what needs no training, `xlate.mbr` and `xlate.gains`.

Lists are dictionaries with the content of the JSON lines that the commands read (docs/formats.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self
from weakref import finalize

from xlate.array_types import Floats
from xlate.candidates.nbest import present
from xlate.candidates.nbest_gains import Utility, gain_statistics, utilities
from xlate.cli.train import trained
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.errors import InputError, refuse_if
from xlate.formats.nbest_file import JSONL, NbestFile, nbest_arrays
from xlate.formats.nbest_list import Hypothesis
from xlate.formats.records import KEYS, collapsed, ranked_records
from xlate.metrics.objective import Objective
from xlate.models.rerank.lists import held_references
from xlate.models.rerank.ranker import Ranker
from xlate.report.run_directory import Listener, RunDirectory
from xlate.scoring.feature_weights import rescored
from xlate.text.factors import located
from xlate.text.lines import write_file, write_lines
from xlate.training import overrides_of

Records = Sequence[dict[str, Any]]
# One text per list, or several.
Texts = Sequence[str] | Sequence[Sequence[str]]
# Where lists come from, in messages.
LISTS = "lists"


class Reranker:
    """A run of model=rerank that ranks lists; `train` makes one, `load` opens one.

    Attributes:
        run: its folder, which `xlate nbest rescore run=…` takes too. It is removed with this object if it is temporary.

    Example:
        >>> import xlate
        >>> lists = [{"id": i, "outputs": ["a b", "a c"]} for i in range(8)]
        >>> reranker = xlate.Reranker.train(lists, ["a c"] * 8, loss="mira")
        >>> reranker.rank(lists)[0]["outputs"]
        ['a c', 'a b']
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self._ranker = Ranker.open(run)

    @classmethod
    def load(cls, run: str | Path) -> Self:
        """Opens a run that `xlate train model=rerank`, `train` or `save` made.

        Raises:
            InputError: not a finished run of this kind.
        """
        return cls(Path(run))

    @classmethod
    def train(
        cls,
        lists: Records,
        references: Texts | None = None,
        *overrides: str,
        run: str | Path | None = None,
        reporter: Listener | None = None,
        **keys: Any,
    ) -> Self:
        """Learns from lists, with the same result as `xlate train model=rerank` from the same lists in a file.

        Args:
            lists: dictionaries, each with a list or, one after the other, its hypotheses.
            references: of each list, one or more; by default those in the lists. With `metric=column` none are needed.
            overrides, keys: keys of `xlate train`, such as `"model.rerank.mbr=chrf"` and `loss="mira"`; see `train`.
            run: a folder to keep; it gets a copy of the lists, so that an interrupted training can resume.
            reporter: called with the tag, value and step of every scalar.

        Raises:
            InputError: as the command; it names a list by its place.
        """
        read = _read(lists)
        texts = _references(read, references)
        folder = Path(mkdtemp(prefix="xlate-") if run is None else run)
        try:
            files = _written(folder, lists, dict(zip((group[0].sentence for group in read), texts, strict=False)))
            given = overrides_of(("model=rerank", *overrides), {**keys, **files, "run": folder})
            with _named(lists, files["nbest"]):
                made = cls(trained(load(TrainConfig, "train", given), given, listener=reporter))
        except BaseException:
            if run is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if run is None:
            finalize(made, shutil.rmtree, folder, ignore_errors=True)
        return made

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each feature other than 0, by name."""
        return {**self._ranker.floats, **self._ranker.sparse}

    @property
    def figures(self) -> dict[str, Any]:
        """What was measured after training, such as `heldout_ranked_BLEU`; see docs/reranking.md."""
        return RunDirectory.open(self.run).summary or {}

    def rank(self, lists: Records) -> list[dict[str, Any]]:
        """The same dictionaries with the hypotheses of each list best first, and `score` and `rank`, from 1, added.

        Raises:
            InputError: a list cannot be read, or lacks scores or a source that were there in training.
        """
        read = _read(lists)
        with _named(lists):
            scored = self._ranker.scored(read, LISTS) if read else ()
            return [record for batch, score_C, _ in scored for record in _ranked(batch, score_C)]

    def save(self, folder: str | Path) -> None:
        """Copies the run, without the lists it was made from, to a new folder.

        Raises:
            InputError: the folder exists.
        """
        refuse_if(os.path.lexists(folder), "the folder exists", folder, "a new folder")
        shutil.copytree(self.run, folder, ignore=shutil.ignore_patterns(".*", "checkpoint"))


def mbr(lists: Records, utility: str | Utility = "chrf", scale: float = 0.0) -> list[dict[str, Any]]:
    """Ranks lists by minimum Bayes risk: the mean utility of a hypothesis, with each of its list as the reference.

    Args:
        lists: dictionaries; see `Reranker.train`.
        utility: `"bleu"`, `"chrf"`, or a function of a hypothesis and a reference, called once per pair of texts.
        scale: hypotheses count by exp(scale · score); 0: equally.

    Returns:
        As `Reranker.rank`.

    Raises:
        InputError: a list cannot be read, there is no such utility, or with a scale, hypotheses lack scores.

    Example:
        >>> ranked = mbr([{"id": 1, "outputs": ["a b", "a b c", "a b c d"]}], lambda one, other: float(one in other))
        >>> [(text, round(score, 2)) for text, score in zip(ranked[0]["outputs"], ranked[0]["score"])]
        [('a b', 1.0), ('a b c', 0.67), ('a b c d', 0.33)]
    """
    read = _read(lists)
    with _named(lists):
        return _ranked(read, utilities(nbest_arrays(read, LISTS), utility, scale)) if read else []


def gains(hypotheses: Texts, references: Texts, metric: str = "bleu", smooth: str = "add-1") -> list[Any]:
    """The gain of each hypothesis, from 0 to 1: sacrebleu's figure for the sentence / 100, with words split at spaces.

    Args:
        hypotheses: one text per sentence, or a list of them. references: one per sentence, or a list of them.
        metric: bleu, chrf, ter (then 1 - TER), or a mixture like `"bleu:1,chrf:1"`.
        smooth: how BLEU of a sentence is smoothed: add-1, exp, floor, none or gao.

    Returns:
        One number per sentence, or a list of them for a list of hypotheses.

    Raises:
        InputError: not as many references as sentences, or there is no such metric.

    Example:
        >>> gains([["the cat sat", "dog"]], ["the cat sat"], "chrf")
        [[1.0, 0.0]]
    """
    objective, lists = Objective.of(metric, smooth), _several(hypotheses)
    if not lists:
        return []
    empty = next((number for number, texts in enumerate(lists) if not texts), None)
    refuse_if(empty is not None, "a sentence without hypotheses", f"hypotheses[{empty}]", "one or more")
    read = _read([{"id": number, "hyp": texts} for number, texts in enumerate(lists)])
    statistics_CK = gain_statistics(nbest_arrays(read), _references(read, references), objective)
    found = iter(objective.sentences(statistics_CK).tolist())
    grouped = [[next(found) for _ in texts] for texts in lists]
    return [group[0] for group in grouped] if isinstance(hypotheses[0], str) else grouped


def _several(texts: Texts) -> list[list[str]]:
    return [[one] if isinstance(one, str) else list(one) for one in texts]


def _read(lists: Records) -> list[list[Hypothesis]]:
    """The hypotheses of each list; the line of a hypothesis is the number of its dictionary, from 1."""
    with _named(lists):
        return list(NbestFile(LISTS, JSONL, rows=lists).lists())


def _ranked(read: list[list[Hypothesis]], score_C: Floats) -> list[dict[str, Any]]:
    return list(ranked_records(rescored(read, score_C)))


def _references(read: list[list[Hypothesis]], references: Texts | None) -> list[list[str]]:
    """The references of each list, those in the lists by default; none if a list lacks them."""
    texts = [*map(held_references, read)]
    if references is not None:
        texts = [[*map(collapsed, row)] for row in _several(references)]
    expected = "one reference, or a list of them, for each list"
    seen = f"{len(texts)} references, {len(read)} lists"
    refuse_if(len(texts) != len(read), "lists and references do not fit", seen, expected)
    return [*map(present, texts)] if all(texts) else []


def _written(folder: Path, lists: Records, references: dict[int, list[str]]) -> dict[str, Any]:
    """Writes lists and references, by the ids of the lists, as hidden files, named after their content, into the folder
    of a run.
    """
    # Where ids are line numbers, the references of a list are on the line of its id.
    ids = sorted(references) if max(references, default=-1) == len(references) - 1 else references
    streams = [[*stream] for stream in zip_longest(*map(references.__getitem__, ids), fillvalue="")]
    text = "".join(json.dumps(given, ensure_ascii=False) + "\n" for given in lists)
    name = hashlib.sha256(json.dumps([text, streams]).encode()).hexdigest()[:8]
    files = [folder / f".references-{name}.{number}" for number in range(len(streams))]
    folder.mkdir(parents=True, exist_ok=True)
    for file, stream in zip(files, streams, strict=True):
        write_lines(file, stream)
    write_file(folder / f".lists-{name}.jsonl", text)
    return {"nbest": folder / f".lists-{name}.jsonl", "references": files}


@contextmanager
def _named(lists: Records, file: str | Path = LISTS) -> Iterator[None]:
    """Names the dictionary in an error about a line of the file that stands for the lists: its place, and its id."""
    try:
        yield
    except InputError as error:
        if error.file != str(file):
            raise
        where = LISTS
        if error.line is not None:
            given, where = lists[error.line - 1], f"{LISTS}[{error.line - 1}]"
            name = next((given[key] for key in KEYS["id"] if key in given), None) if isinstance(given, dict) else None
            where += "" if name is None else f", id {name}"
        raise located(error, where, None) from error
