"""Several systems as one: each lists its translations of a sentence, and a trained ranker chooses among all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.array_types import Floats
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run, sums_of_run
from xlate.errors import refuse_if
from xlate.formats.nbest_file import NbestFile, merged, named_files
from xlate.formats.nbest_list import Hypothesis
from xlate.models.derivation import Derivation, Span
from xlate.models.kind import Kind, kind_of, needed, open_system
from xlate.models.rerank.lists import SentenceLines
from xlate.models.rerank.ranker import Ranker
from xlate.models.system import AnyDerivation, AnySystem, GraphlessSystem
from xlate.scoring.weights import WeightsFile
from xlate.search.settings import AnySearch
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import Vocabulary
from xlate.work.directory import WorkDirectory

if TYPE_CHECKING:
    from xlate.models.transformer.kind import TransformerModel

# The folder, within a run, of the systems that it trains itself; also their checksums, in the metadata of its weights.
SYSTEMS = "systems"
# What the sparse features of a hypothesis's words add to its score.
WORDS = "words"


def is_training(given: str) -> bool:
    """Whether an entry of `model.systems` has the keys of a training; otherwise it is the path of a run."""
    return given.startswith("model=")


def system_folders(systems: Sequence[str], run: Path) -> dict[str, Path]:
    """The folder of each run that `model.systems` of a combination names, in this order.

    Args:
        systems: NAME=RUN or NAME=KEYS each.
        run: the folder of the combination.

    Raises:
        InputError: an entry has another form, or a name occurs twice.
    """
    named = named_files(systems, "model.systems").items()
    return {name: run / SYSTEMS / name if is_training(given) else Path(given) for name, given in named}


def combined_runs(systems: Sequence[str], run: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Those among the same that translate, and those that score the translations of all; some do both.

    Runs that only serve others, such as that of a joint model, do neither.

    Raises:
        InputError: also if a run is missing.
    """
    folders = system_folders(systems, run)
    models = {name: config_of_run(folder).model for name, folder in folders.items()}
    translating = {name: folders[name] for name, model in models.items() if kind_of(model).lists(model)}
    return translating, {name: folders[name] for name, model in models.items() if kind_of(model).scores}


class ScoringRuns:
    """Runs that score every translation of a list, whatever system it comes from.

    Args:
        folders: of the runs, by name.

    Raises:
        InputError: a run is not finished.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.models: dict[str, TransformerModel] = {}
        if folders:
            # Other systems need no PyTorch to translate.
            from xlate.models.transformer.kind import TransformerModel

            self.models = {name: TransformerModel.open(folder) for name, folder in folders.items()}

    def prepare(self, sentences: Sequence[Any]) -> None:
        """For `search.processes`: nothing is computed beforehand."""

    def scored(self, given: tuple[Sequence[str], Sequence[Hypothesis]]) -> list[Hypothesis]:
        """The translations of a sentence, each with ln of its probability under every model."""
        source, group = given[0], [*given[1]]
        for name, model in self.models.items():
            values = model.log_probs(source, [split_tokens(hypothesis.text) for hypothesis in group])
            group = [one.with_value(f"{name}.log_prob", value) for one, value in zip(group, values, strict=True)]
        return group


@dataclass(frozen=True)
class ChosenDerivation(Derivation[Any]):
    """A derivation of one of the systems; its features and its score are those of the ranker."""

    system: str
    own: Any


class CombinedSystem(GraphlessSystem[AnySearch]):
    """The lists of several systems, merged (`formats.nbest_file.merged`) and ranked.

    A hypothesis that several systems have is the derivation of the first of them. `search` is that of the first system,
    with the number of derivations wanted here; each system has its own for its list.
    """

    PARTS = ("systems", "scoring", "ranker", "search", "fast")
    refusal = (
        "several systems together have no search of their own",
        "model=combination",
        "name one of its systems: the runs in its folder systems/",
    )

    def __init__(
        self,
        systems: Mapping[str, AnySystem],
        scoring: ScoringRuns,
        ranker: Ranker,
        search: AnySearch | None = None,
        fast: bool = True,
    ) -> None:
        # A system that changes forgets what it has computed for its sentences.
        self.systems = {name: one if one.fast == fast else one.changed(fast=fast) for name, one in systems.items()}
        self.scoring, self.ranker, self.fast = scoring, ranker, fast
        first, *_ = self.systems.values()
        self.search = search or replace(first.search, nbest=1)
        self.LONGEST = min(one.LONGEST for one in self.systems.values())  # type: ignore[misc]

    @property
    def feature_names(self) -> tuple[str, ...]:
        # Names in n-best lists have no blanks.
        return (*(name.replace(" ", "_") for name in self.ranker.floats), WORDS)

    @cached_property
    def weights_D(self) -> Floats:
        return np.array([*self.ranker.floats.values(), 1.0])

    @property
    def target_vocabulary(self) -> Vocabulary:
        return next(iter(self.systems.values())).target_vocabulary

    def prepare(self, sentences: Sequence[Sequence[str]]) -> None:
        for system in self.systems.values():
            system.prepare(sentences)

    def translate(self, words: Sequence[str]) -> list[Derivation[Any]]:
        lists = {name: system.translate(words) for name, system in self.systems.items()}
        read = {name: self._read(name, found) for name, found in lists.items()}
        of_text: dict[str, tuple[str, AnyDerivation]] = {}
        for name, found in lists.items():
            for hypothesis, one in zip(read[name], found, strict=True):
                of_text.setdefault(hypothesis.text, (name, one))
        first, *others = read
        group: Iterable[list[Hypothesis]] = [read[first]]
        if others:
            files = {"": first, **{name: name for name in others}}
            group = merged(group, {name: [read[name]] for name in others}, files)
        group = [self.scoring.scored((words, one)) for one in group]
        source = SentenceLines(first, {0: (1, " ".join(words))})
        (((hypotheses,), score_C, floats_CD),) = self.ranker.scored(group, first, source)
        features_CD = np.column_stack([floats_CD, score_C - floats_CD @ self.weights_D[:-1]])
        order = np.argsort(-score_C, kind="stable")[: self.search.nbest]
        return [
            ChosenDerivation(one.source, one.steps, features_CD[place], float(score_C[place]), name, one)
            for place in order.tolist()
            for name, one in [of_text[hypotheses[place].text]]
        ]

    def _read(self, name: str, found: Sequence[AnyDerivation]) -> list[Hypothesis]:
        """The hypotheses of a system as they are read from its n-best list, with the values rounded there."""
        rows = [self.systems[name].nbest_line(0, one) for one in found]
        return [*NbestFile(name, "bars", rows=rows).hypotheses()]

    def shown_steps(self, source: Sequence[str], derivation: Any) -> list[str]:
        name = derivation.system
        return [f"by {name}:", self.systems[name].explain(source, derivation.own), "chosen by:"]

    def word_links(self, derivation: Any) -> list[Span] | None:
        return self.systems[derivation.system].word_links(derivation.own)

    def orientations(self, derivation: Any) -> list[int]:
        return self.systems[derivation.system].orientations(derivation.own)


class Combination(Kind):
    """Chooses among the translations of several systems."""

    name = "combination"
    impossible = (
        "a combination of systems has no weights to tune",
        "train one of its systems, or model=combination anew",
    )

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
    ) -> AnySystem:
        model, path, sums = config.model, str(needed(work, config.model).path), weights.metadata[SYSTEMS]
        translating, scoring = combined_runs(model.systems, run)
        changed = [name for name, folder in {**translating, **scoring}.items() if sums_of_run(folder) != sums[name]]
        remedy = "train the combination again, under another name"
        refuse_if(changed, "systems that changed since they were combined", changed, "their old weights", remedy, run)
        systems = {name: listing(folder, model.size, path) for name, folder in translating.items()}
        return CombinedSystem(systems, ScoringRuns(scoring), Ranker.open(run))


def listing(run: Path, size: int, work: str) -> AnySystem:
    """The system of a run that lists up to `size` distinct translations of a sentence.

    Raises:
        InputError: the run is not finished, or was trained on another work directory.
    """
    system, _ = open_system(run, config_of_run(run), work)
    return system.with_search(nbest=size, distinct=True)
