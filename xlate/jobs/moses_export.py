"""xlate export run=RUN out=DIR: a phrase run as a Moses system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.config.schema import ExportConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.formats.bars import escape_bars, needs_escape
from xlate.formats.moses_ini import write_moses_ini
from xlate.formats.moses_table import write_phrase_table
from xlate.formats.reordering_table import write_reordering_table
from xlate.jobs.moses_import import copy_packed
from xlate.jobs.run_weights import weights_of
from xlate.jobs.systems.phrase import KIND, SET, Phrase, open_phrase_model
from xlate.jobs.train.folded_sparse import folded
from xlate.models.phrase.model import PHRASE_FEATURES, SLOTS, PhraseModel
from xlate.text.folders import WholeFolder, check_replaceable, without_mark, write_mark
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.locks import refused_while_written

TABLE, LM, INI = "phrase-table.gz", "lm.arpa.gz", "moses.ini"
# Says that a folder is an exported system, which a later export may replace.
MARK, FORMAT = "xlate-export.json", "xlate export 1"
FILES = r"(phrase|reordering)-table\..*gz|lm\.arpa\.gz|moses\.ini|xlate-export\.json"
ALGORITHMS = {"stack": 0, "cube": 1}


def export_moses(config: ExportConfig) -> dict[str, Any]:
    """Writes tables, language model, weights and search settings of a run of the phrase model in Moses's formats.

    Numbers are written with all their digits, so an imported system scores as the run does. If any word holds a bar,
    bars are written `&#124;` in tables and language model, and have to be in the text that is translated with them.
    That text has to be tokenised as the run's was.

    Raises:
        InputError: another kind of run, one that is not finished, another process writes `out`, or it holds something
            else.
    """
    with refused_while_written(Path(config.out), "folder"):
        return _exported(config)


def _exported(config: ExportConfig) -> dict[str, Any]:
    run, out = Path(config.run), Path(config.out)
    asked = out, "an exported system", without_mark(MARK, FORMAT, FILES), "name another folder with out=…"
    check_replaceable(*asked)
    trained = config_of_run(run)
    if trained.model.kind != KIND:
        raise InputError("only phrase models have Moses's form", file=run, seen=f"model.kind={trained.model.kind}")
    model = open_phrase_model(run, trained)
    model, weights_D = folded(model, weights_of(run).fitting(SET, model.sparse, run))
    with WholeFolder(*asked) as aside:
        _write(aside, run, trained, model, weights_D)
        write_mark(aside / MARK, {"format": FORMAT, "run": str(run)})
    return {"out": str(out), "pairs": len(model.table), "files": sorted(p.name for p in out.iterdir())}


def _write(out: Path, run: Path, trained: TrainConfig, model: PhraseModel, weights_D: NDArray[np.float64]) -> None:
    vocabularies = (model.source_vocabulary, model.target_vocabulary)
    escape = any(needs_escape(vocabulary.words) for vocabulary in vocabularies)
    write_phrase_table(out / TABLE, model.table, *vocabularies, escape=escape, exact=True)
    if model.reordering is not None:
        write_reordering_table(
            out / _reordering_file(model),
            model.table,
            model.reordering.probability_BK2,
            *vocabularies,
            escape=escape,
            exact=True,
        )
    _copy_language_model(language_model_file(run, trained), out / LM, escape)
    weights = {name: weights_D[part].tolist() for name, part in SLOTS.items() if name in _names(model)}
    write_moses_ini(out / INI, _features(model, trained.decoder.options), weights, _settings(trained))


def language_model_file(run: Path, trained: TrainConfig) -> Path:
    """The packed ARPA file behind a run: its own, that of the run it is based on, or its work directory's."""
    if (run / LM).exists():
        return run / LM
    if trained.base is not None:
        base = Path(trained.base)
        return language_model_file(base, config_of_run(base))
    return Path(trained.work) / "lm" / LM


def _copy_language_model(source: Path, target: Path, escape: bool) -> None:
    if escape:
        write_lines(target, map(escape_bars, iterate_lines(source)))
    else:
        copy_packed(source, target)


def _reordering_file(model: PhraseModel) -> str:
    assert model.reordering is not None
    return f"reordering-table.{model.reordering.kind}-msd-bidirectional-fe.gz"


def _names(model: PhraseModel) -> list[str]:
    return [name for name in PHRASE_FEATURES if model.reordering is not None or name != "LexicalReordering0"]


def _features(model: PhraseModel, limit: int) -> list[str]:
    factors = "input-factor=0 output-factor=0"
    lines = [
        "UnknownWordPenalty",
        "WordPenalty",
        "PhrasePenalty",
        f"PhraseDictionaryMemory name=TranslationModel0 num-features=4 path={TABLE} {factors} table-limit={limit}",
    ]
    if model.reordering is not None:
        kind = f"type={model.reordering.kind}-msd-bidirectional-fe-allff"
        lines.append(
            f"LexicalReordering name=LexicalReordering0 num-features=6 {kind} {factors} path={_reordering_file(model)}"
        )
    return [*lines, "Distortion", f"KENLM name=LM0 factor=0 path={LM} order={model.lm.order}"]


def _settings(trained: TrainConfig) -> dict[str, object]:
    search = Phrase().search(trained.decoder)
    return {
        "distortion-limit": -1 if search.distortion_limit is None else search.distortion_limit,
        "search-algorithm": ALGORITHMS[search.algorithm],
        "stack": search.beam or 0,
        "cube-pruning-pop-limit": search.pop_limit,
        "beam-threshold": search.threshold,
        "early-discarding-threshold": search.early_threshold,
        "max-phrase-length": search.max_phrase,
    }
