"""A run whose system is opened when a question needs it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.features.index import signature, spelled_names
from xlate.jobs.inspect.fired import MEMBERS
from xlate.jobs.inspect.learned import Learned
from xlate.jobs.packs.archive import unpacked
from xlate.jobs.run_weights import weights_of
from xlate.jobs.translate import Translator


class InspectedRun:
    """The configuration and the weights of a finished run.

    Attributes:
        folder: the run, that of a packed one when `folder` was the file of a pack.
        work: the work directory, if the user has named it.
        without_members: why word classes are shown by their numbers only, None where they are not, or nothing asked.

    Raises:
        InputError: there is no finished run.
    """

    def __init__(self, folder: str | Path, work: str | None = None) -> None:
        self.folder, self.work = unpacked(Path(folder)), work
        self.trained = config_of_run(self.folder)
        self.weights = weights_of(self.folder, self.trained)
        self.without_members: InputError | None = None

    @cached_property
    def translator(self) -> Translator:
        """What translates with it, and explains.

        Raises:
            InputError: its work directory is gone, or it translates nothing.
        """
        return Translator.of_run(self.trained, self.folder, given=self.work).with_output(detokenize=True, trace=True)

    def names(self, features: Sequence[Learned]) -> list[str]:
        """The names of some of its features, word classes with their most frequent words where the system has them."""
        classed = self.trained.model.sparse is not None or self.trained.model.structure is not None
        if not classed or not features or self.without_members is not None:
            return [feature.name for feature in features]
        try:
            index = self.translator.system.features
        except InputError as error:
            self.without_members = error
            return [feature.name for feature in features]
        stored = self.weights.features[features[0].set_name]
        if index is None or signature(index) != signature(stored):
            return [feature.name for feature in features]
        ids_A = np.array([feature.feature for feature in features], dtype=np.int64)
        return list(spelled_names(index, ids_A, MEMBERS))
