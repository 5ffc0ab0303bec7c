"""xlate nbest check|import|oracle|rescore FILE: n-best lists of any system."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlate.config.nbest_schema import NbestConfig
from xlate.errors import InputError

if TYPE_CHECKING:
    from xlate.candidates.nbest_columns import NbestArrays
    from xlate.formats.nbest_file import NbestFile

CONFIG = NbestConfig
POSITIONAL = ("action", "nbest")


def run(config: NbestConfig) -> None:
    """Does what `action` says; prints figures as JSON on standard output, and remarks on standard error."""
    action = ACTIONS.get(config.action)
    if action is None:
        raise InputError("unknown action", seen=config.action, expected=", ".join(ACTIONS))
    figures = json.dumps(action(config), indent=2, ensure_ascii=False)
    # The list itself may go to standard output.
    print(figures, file=sys.stderr if config.out == "-" else sys.stdout)


def check(config: NbestConfig) -> dict[str, Any]:
    """Tells what is wrong or odd in a list and, with references, the BLEU of its best, first and worst choices.

    Raises:
        InputError: the list cannot be used. All errors are printed; the first one is raised.
    """
    from xlate.formats.nbest_check import check_nbest

    references = _references(config)
    weights = _weights(config) if config.weights else None
    lengths = [len(stream) for stream in references]
    report = check_nbest(_list(config), references=lengths, first_sentence=config.first_id, weights=weights)
    if len(report.errors) > 1 or not report.errors:
        print(report.summary(), file=sys.stderr)
    figures = report.to_json()
    if report.errors:
        print(json.dumps(figures, indent=2, ensure_ascii=False))
        raise report.errors[0]
    if references and report.arrays is not None:
        figures["bleu"] = _bleu(report.arrays, references, config)[0]
    return figures


def import_list(config: NbestConfig) -> dict[str, Any]:
    """Writes a list as a candidate store under `out`."""
    from xlate.candidates.nbest_store import nbest_candidates, write_nbest_store

    out = _needed(config.out, "out", "DIRECTORY")
    references = _references(config, needed=True)
    candidates = nbest_candidates(_arrays(config), references, config.first_id)
    write_nbest_store(out, candidates, {"nbest": config.nbest, "references": list(config.ref)})
    return {
        "store": out,
        "lists": len(candidates.batch),
        "hypotheses": candidates.batch.candidates,
        "dense": list(candidates.dense_names),
        "sparse": len(candidates.sparse_names),
    }


def oracle(config: NbestConfig) -> dict[str, Any]:
    """Tells the BLEU of the best, first and worst choices from a list; writes the text of the best choice to `out`."""
    from xlate.text.lines import write_lines

    nbest = _list(config) if config.out is None else _list(config).check_read_again()
    arrays = _arrays(config)
    figures, chosen_I = _bleu(arrays, _references(config, needed=True), config)
    if config.out is not None:
        places = chosen_I - arrays.candidate_offsets_I1[:-1]
        write_lines(config.out, (group[place].text for group, place in zip(nbest.lists(), places, strict=True)))
    return figures


def rescore(config: NbestConfig) -> dict[str, Any]:
    """Writes a list with the totals of other weights to `out`, the best hypothesis of each sentence first."""
    from xlate.formats.nbest_list import write_nbest
    from xlate.scoring.feature_weights import unweighted
    from xlate.scoring.nbest_rescore import rescored

    out = _needed(config.out, "out", "FILE")
    nbest = _list(config).check_read_again()
    arrays = _arrays(config)
    missing: list[str] = []
    if config.run is not None:
        from xlate.jobs.train.rerank import rerank_scores

        score_C = rerank_scores(Path(config.run), nbest, config.source, config.first_id)
    else:
        weights = _weights(config)
        missing = unweighted(arrays, weights)
        score_C = arrays.scores(weights)
    write_nbest(out, rescored(nbest.lists(), score_C))
    if missing:
        print(f"without a weight: {len(missing)} features, first {', '.join(missing[:5])}", file=sys.stderr)
    figures: dict[str, Any] = {"out": out, "hypotheses": len(score_C), "features_without_weight": len(missing)}
    if config.ref:
        arrays.total_C[:] = score_C
        figures["bleu"] = _bleu(arrays, _references(config), config)[0]
    return figures


ACTIONS: dict[str, Callable[[NbestConfig], dict[str, Any]]] = {
    "check": check,
    "import": import_list,
    "oracle": oracle,
    "rescore": rescore,
}


def _arrays(config: NbestConfig) -> NbestArrays:
    from xlate.candidates.nbest_columns import nbest_arrays

    return nbest_arrays(_list(config).lists(), config.nbest)


def _list(config: NbestConfig) -> NbestFile:
    from xlate.jobs.ranking.given import given_list

    return given_list(config, config.nbest)


def _references(config: NbestConfig, needed: bool = False) -> list[list[str]]:
    from xlate.text.lines import read_lines

    if needed and not config.ref:
        _needed(None, "ref", "[FILE,…]")
    return [read_lines(path) for path in config.ref]


def _weights(config: NbestConfig) -> dict[str, float]:
    from xlate.scoring.feature_weights import load_feature_weights

    return load_feature_weights(_needed(config.weights, "weights", "FILE"))


def _needed(value: str | None, key: str, kind: str) -> str:
    if value is None:
        raise InputError("a value must be given", seen=f"{key} is not set", expected=f"{key}={kind}")
    return value


def _bleu(arrays: NbestArrays, references: list[list[str]], config: NbestConfig) -> tuple[dict[str, float], Any]:
    """BLEU on the tokens as they are, rounded to two digits, and the choice of the oracle, (I,)."""
    import numpy as np

    from xlate.candidates.nbest_store import nbest_statistics
    from xlate.search import nbest_oracle

    stats_CK = nbest_statistics(arrays, references, config.first_id)
    offsets = arrays.candidate_offsets_I1
    totals = arrays.total_C if np.isfinite(arrays.total_C).all() else None
    best = nbest_oracle.oracle(stats_CK, offsets)
    first = nbest_oracle.first_best(stats_CK, offsets, totals)
    worst = nbest_oracle.oracle(stats_CK, offsets, worst=True)
    return {"oracle": round(best.bleu, 2), "first": round(first.bleu, 2), "worst": round(worst.bleu, 2)}, best.chosen_I
