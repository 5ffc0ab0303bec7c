"""xlate export run=RUN out=DIR: a phrase run as a Moses system; with input=TEXT, one with a table for each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xlate.array_types import Floats
from xlate.config.schema import ExportConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.formats.bars import escape_bars, needs_escape
from xlate.formats.moses_ini import phrase_feature, reordering_feature, write_moses_ini
from xlate.formats.moses_table import write_phrase_table
from xlate.formats.reordering_table import write_reordering_table
from xlate.formats.sentence_tables import MARK
from xlate.jobs.imports.moses import copy_packed
from xlate.jobs.packs.archive import unpacked
from xlate.jobs.packs.form import is_pack
from xlate.jobs.run_places import located_config
from xlate.jobs.run_text import text_of
from xlate.jobs.run_weights import weights_of
from xlate.jobs.sentence_export import ExportedTables
from xlate.jobs.systems.phrase import KIND, SET, Phrase, open_phrase_model
from xlate.jobs.train.sparse_models import folded
from xlate.models.phrase.model import PHRASE_FEATURES, SLOTS, PhraseModel
from xlate.text.folders import WholeFolder, check_replaceable, without_mark, write_mark
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.locks import refused_while_written
from xlate.work.directory import WorkDirectory

TABLE, LM, INI = "phrase-table.gz", "lm.arpa.gz", "moses.ini"
# Models of Moses's truecaser; `source` or `target` stands behind.
TRUECASING = "truecase-model"
# The mark says that a folder is an exported system, which a later export may replace.
FORMAT = "xlate export 1"
FILES = (
    r"(phrase|reordering)-table\..*gz|lm\.arpa\.gz|moses\.ini|xlate-export\.json|truecase-model\.(source|target)"
    r"|(reordering\.)?\d+\.gz|input\.txt|README\.txt|translate\.sh"
)
ALGORITHMS = {"stack": 0, "cube": 1}


def export_moses(config: ExportConfig) -> dict[str, Any]:
    """Writes tables, language model, weights and search settings of a run of the phrase model in Moses's formats.

    Numbers are written with all their digits, so an imported system scores as the run does. If any word holds a bar,
    bars are written `&#124;` in tables and language model, and have to be in the text that is translated with them.
    That text has to be tokenised as the run's was, and truecased by the models that are written of a run that
    truecases.

    With `input` there is a table for each of its lines in place of one for all; see `ExportedTables`.

    Raises:
        InputError: another kind of run, one that is not finished, one with predictions in context without `input`,
            another process writes `out`, or it holds something else.
    """
    with refused_while_written(Path(config.out), "folder"):
        return _exported(config)


def _exported(config: ExportConfig) -> dict[str, Any]:
    run, out = unpacked(Path(config.run)), Path(config.out)
    if is_pack(run):
        raise InputError(
            "a packed run has no language model in the form of Moses",
            file=Path(config.run),
            seen="a packed run",
            expected="a run beside its work directory",
            remedy="export it where it was packed",
        )
    asked = out, "an exported system", without_mark(MARK, FORMAT, FILES), "name another folder with out=…"
    check_replaceable(*asked)
    kind = config_of_run(run).model.kind
    if kind != KIND:
        raise InputError("only phrase models have Moses's form", file=run, seen=f"model.kind={kind}")
    trained = located_config(run, work=config.work)
    if config.input is not None:
        tables = ExportedTables.open(config, Path(config.input))
        with WholeFolder(*asked) as aside:
            pairs = tables.write(aside)
            _copy_language_model(language_model_file(run, trained), aside / LM, tables.escape)
            weights = tables.weights(_weights(tables.model, tables.decoder.weights_D))
            _write_ini(aside, trained, tables.model, tables.features, weights)
            _write_truecasing(aside, run, trained, tables.model, tables.escape)
            write_mark(aside / MARK, {"format": FORMAT, "run": str(run), "tables": True, "escaped": tables.escape})
        return {"out": str(out), "pairs": pairs, "tables": len(tables.lines)}
    model = open_phrase_model(run, trained)
    if model.in_sentence is not None or model.placed is not None:
        raise InputError(
            "predictions in context differ from sentence to sentence, so no one table has them",
            file=run,
            seen="a run with context=…",
            remedy="give the text to translate, input=FILE: every line of it gets a table of its own",
        )
    model, weights_D = folded(model, weights_of(run).fitting(SET, model.sparse, run))
    with WholeFolder(*asked) as aside:
        _write(aside, run, trained, model, weights_D)
        write_mark(aside / MARK, {"format": FORMAT, "run": str(run)})
    return {"out": str(out), "pairs": len(model.table), "files": sorted(p.name for p in out.iterdir())}


def _write(out: Path, run: Path, trained: TrainConfig, model: PhraseModel, weights_D: Floats) -> None:
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
    tables = [phrase_feature(TABLE, 4, trained.decoder.options)]
    if model.reordering is not None:
        tables.append(reordering_feature(model.reordering.kind, _reordering_file(model)))
    _write_ini(out, trained, model, tables, _weights(model, weights_D))
    _write_truecasing(out, run, trained, model, escape)


def _write_truecasing(out: Path, run: Path, trained: TrainConfig, model: PhraseModel, escape: bool) -> None:
    """Writes a model of Moses's truecaser for each side that is truecased, of the words that the system knows."""
    text = WorkDirectory(Path(trained.work)) if trained.work else text_of(run)
    vocabularies = {"source": model.source_vocabulary, "target": model.target_vocabulary}
    for side, caser in text.casers.items():
        lines = caser.moses_lines(vocabularies[side].words)
        write_lines(out / f"{TRUECASING}.{side}", map(escape_bars, lines) if escape else lines)


def _write_ini(
    out: Path, trained: TrainConfig, model: PhraseModel, tables: list[str], weights: Mapping[str, Sequence[float]]
) -> None:
    """Writes moses.ini; `tables` are the feature lines of tables."""
    lm = f"KENLM name=LM0 factor=0 path={LM} order={model.lm.order}"
    features = ["UnknownWordPenalty", "WordPenalty", "PhrasePenalty", *tables, "Distortion", lm]
    write_moses_ini(out / INI, features, weights, _settings(trained))


def _weights(model: PhraseModel, weights_D: Floats) -> dict[str, list[float]]:
    """The weights of Moses's features."""
    names = [name for name in PHRASE_FEATURES if model.reordering is not None or name != "LexicalReordering0"]
    return {name: weights_D[SLOTS[name]].tolist() for name in names}


def language_model_file(run: Path, trained: TrainConfig) -> Path:
    """The packed ARPA file behind a run: its own, that of the run it is based on, or its work directory's."""
    if (run / LM).exists():
        return run / LM
    if trained.base is not None:
        base = Path(trained.base)
        return language_model_file(base, located_config(base, near=trained.work))
    return Path(trained.work) / "lm" / LM


def _copy_language_model(source: Path, target: Path, escape: bool) -> None:
    if escape:
        write_lines(target, map(escape_bars, iterate_lines(source)))
    else:
        copy_packed(source, target)


def _reordering_file(model: PhraseModel) -> str:
    assert model.reordering is not None
    return f"reordering-table.{model.reordering.kind}-msd-bidirectional-fe.gz"


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
