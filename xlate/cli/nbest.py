"""xlate nbest check|import|oracle|rescore|pairs|score FILE: n-best lists of any system."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlate.cli.arguments import action_of
from xlate.errors import InputError, refuse_if
from xlate.settings import Json

if TYPE_CHECKING:
    from xlate.array_types import Floats
    from xlate.candidates.nbest import NbestArrays
    from xlate.config.schema import NbestConfig
    from xlate.formats.nbest_file import NbestFile
    from xlate.formats.nbest_list import Hypothesis


def as_json(figures: Any) -> str:
    """Figures as commands print them."""
    return json.dumps(figures, indent=2, ensure_ascii=False)


def run(config: NbestConfig) -> None:
    """Runs `action`; prints figures as JSON on standard output, and remarks on standard error."""
    figures = as_json(action_of(ACTIONS, config.action)(config))
    # The list itself may go to standard output.
    print(figures, file=sys.stderr if "-" in (config.out, config.best_out) else sys.stdout)


def check(config: NbestConfig) -> Json:
    """Reports errors and oddities in a list and, with references, the BLEU of its best, first and worst choices.

    Raises:
        InputError: the list cannot be used. All errors are printed; the first one is raised.
    """
    from xlate.formats.nbest_check import check_nbest
    from xlate.models.rerank.lists import given_list
    from xlate.scoring.feature_weights import load_feature_weights

    if config.merge:
        raise InputError(
            "xlate nbest check takes one list at a time",
            f"merge={list(config.merge)}",
            "one list",
            "xlate nbest check FILE for each of them",
        )
    weights = load_feature_weights(config.weights) if config.weights else None
    report = check_nbest(given_list(config), references=config.ref, first_sentence=config.first_id, weights=weights)
    if len(report.errors) > 1 or not report.errors:
        print(report.summary(), file=sys.stderr)
    figures = report.to_json()
    if report.errors:
        print(as_json(figures))
        raise report.errors[0]
    if report.references and report.arrays is not None:
        figures["bleu"] = _bleu(report.arrays, report.references)[0]
    return figures


def import_list(config: NbestConfig) -> Json:
    """Writes a list as a candidate store under `out`."""
    from xlate.candidates.nbest import nbest_candidates, write_nbest_store

    out = _needed(config.out, "out", "DIRECTORY")
    arrays, references = _read(config)
    candidates = nbest_candidates(arrays, references)
    write_nbest_store(out, candidates, {"nbest": config.nbest, "references": list(config.ref)})
    return {
        "store": out,
        "lists": len(candidates.batch),
        "hypotheses": candidates.batch.candidates,
        "dense": list(candidates.dense_names),
        "sparse": len(candidates.sparse_names),
    }


def oracle(config: NbestConfig) -> Json:
    """Reports the BLEU of the best, first and worst choices from a list; writes the best choices to `out`."""
    arrays, references = _read(config)
    figures, chosen_I = _bleu(arrays, references)
    if config.out is not None:
        _write_text(config.out, dict(zip(arrays.sentence_I.tolist(), arrays.texts(chosen_I), strict=True)), config)
    return figures


def rescore(config: NbestConfig) -> Json:
    """Writes a list with new totals to `out`, the best hypothesis of each sentence first, and reports the gain."""
    import numpy as np

    from xlate.formats.records import write_lists
    from xlate.jobs.ranking import check_alone, reranked, scored_lists
    from xlate.models.rerank.lists import given_list, held_references
    from xlate.scoring.feature_weights import rescored
    from xlate.text.opening import plain_file

    check_alone(config)
    out, nbest = _needed(config.out, "out", "FILE"), given_list(config)
    for file in nbest.files:
        plain_file(file)
    # The report needs all lists at once, the ranking only some at a time.
    judged = bool(config.ref) or any(held_references(group) for group in islice(nbest.lists(), 1))
    arrays, references = _read(config, needed=False) if judged else (None, [])
    figures: Json = {"out": out, "hypotheses": 0}
    best: dict[int, str] = {}
    scores: list[Floats] = []

    def written() -> Iterator[list[Hypothesis]]:
        for batch, score_C in scored_lists(config, nbest, figures):
            figures["hypotheses"] += len(score_C)
            if arrays is not None:
                scores.append(score_C)
            for hypotheses in rescored(batch, score_C):
                best[hypotheses[0].sentence] = hypotheses[0].text
                yield hypotheses

    write_lists(out, written())
    if config.best_out is not None:
        _write_text(config.best_out, best, config)
    if arrays is not None and references:
        figures["rows"] = reranked(config, arrays, references, np.concatenate(scores))
    return figures


def pairs(config: NbestConfig) -> Json:
    """Writes pairs of a better and a worse hypothesis to `out`, as JSON lines for preference trainers."""
    from xlate.candidates.nbest_gains import gain_objective, gain_statistics
    from xlate.models.rerank.lists import given_list, preference_pairs
    from xlate.text.lines import write_lines

    out = _needed(config.out, "out", "FILE")
    objective = gain_objective(config.metric, config.gain_column)
    lists = list(given_list(config).lists())
    arrays, references = _read(config, not objective.is_column, lists)
    prompts = _sources(config, lists)
    statistics_CK = gain_statistics(arrays, references, objective, config.gain_column)
    gain_C = objective.sentences(statistics_CK)
    found = list(preference_pairs(lists, prompts, gain_C, config.pairs, config.least_margin))
    write_lines(out, (json.dumps(pair, ensure_ascii=False) for pair in found))
    return {"out": out, "lists": len(lists), "pairs": len(found)}


def score(config: NbestConfig) -> Json:
    """Writes each hypothesis's log probability under a language model or a transformer to `out`, for `add_scores`."""
    from xlate.models.rerank.lists import given_list
    from xlate.text.lines import write_lines

    out = _needed(config.out, "out", "FILE")
    # One line per hypothesis of the file itself, whatever is added, merged or dropped when it is read.
    alone = replace(given_list(config), added=(), others=())
    both = config.lm is not None and config.run is not None
    refuse_if(both, "two models for one column", f"lm={config.lm} run={config.run}", "lm=MODEL.arpa or run=RUN")
    log_probs = _under_lm(config, alone) if config.run is None else _under_run(config, Path(config.run), alone)
    write_lines(out, (f"{value:.9g}" for value in log_probs))
    return {"out": out, "hypotheses": len(log_probs)}


def _under_lm(config: NbestConfig, nbest: NbestFile) -> list[float]:
    from xlate.lm.arpa import read_arpa
    from xlate.lm.model import NgramModel
    from xlate.text.tokens import split_tokens
    from xlate.text.vocabulary import EncodedText, WordNumbers

    file = _needed(config.lm, "lm", "MODEL.arpa, or run=RUN")
    lm, numbers = NgramModel.from_arpa(read_arpa(file)), WordNumbers()
    text = numbers.encode(split_tokens(hypothesis.text) for hypothesis in nbest.hypotheses())
    encoded = EncodedText(lm.vocabulary.ids(list(numbers))[text.ids_T], text.offsets_S1)
    log_probs: list[float] = lm.sentence_logprobs(encoded).tolist()
    return log_probs


def _under_run(config: NbestConfig, run: Path, nbest: NbestFile) -> list[float]:
    from xlate.config.stored import config_of_run
    from xlate.formats.nbest_list import by_sentence
    from xlate.models.kind import kind_of
    from xlate.models.transformer.kind import TransformerModel
    from xlate.progress import track
    from xlate.text.tokens import split_tokens

    model = config_of_run(run).model
    seen, expected = f"model={model.kind}", "a run of model=transformer"
    refuse_if(
        not kind_of(model).scores, "a run that does not score the translations of others", seen, expected, file=run
    )
    lists, transformer = [*by_sentence(nbest.hypotheses(), nbest.path)], TransformerModel.open(run)
    found = list[float]()
    for source, group in zip(_sources(config, lists), track(lists, "scoring"), strict=True):
        found += transformer.log_probs(split_tokens(source), [split_tokens(hypothesis.text) for hypothesis in group])
    return found


def _sources(config: NbestConfig, lists: list[list[Hypothesis]]) -> list[str]:
    """The source of each list.

    Raises:
        InputError: the source of some sentence is missing.
    """
    import numpy as np

    from xlate.models.rerank.lists import SentenceLines, source_lines

    sentence_I = np.array([group[0].sentence for group in lists])
    found = source_lines(lists, config.nbest, SentenceLines.read(config.source, "sources", sentence_I, config.first_id))
    if found is None:
        raise InputError(
            f"xlate nbest {config.action} needs the source of every sentence",
            "a list without the source of some sentence",
            "a list with it (src in JSON lines, S- of fairseq), or a file of sources",
            "source=FILE",
            file=config.nbest,
        )
    return found


ACTIONS: dict[str, Callable[[NbestConfig], Json]] = {
    "check": check,
    "import": import_list,
    "oracle": oracle,
    "rescore": rescore,
    "pairs": pairs,
    "score": score,
}


def _write_text(out: str, texts: Mapping[int, str], config: NbestConfig) -> None:
    """Writes the text chosen from each list; line N is for sentence N of the references or else of the source."""
    from xlate.models.rerank.lists import sentence_lines
    from xlate.text.lines import count_lines, write_lines
    from xlate.text.opening import plain_file

    beside = next(iter(config.ref), config.source)
    size = None if beside is None else count_lines(plain_file(beside))
    write_lines(out, sentence_lines(texts, size, config.first_id, config.nbest))


def _read(
    config: NbestConfig, needed: bool = True, lists: Iterable[list[Hypothesis]] | None = None
) -> tuple[NbestArrays, list[list[str]]]:
    """The list, and the references of each sentence: of the files, otherwise those held in the records."""
    from xlate.candidates.nbest import present, read_references
    from xlate.formats.nbest_file import nbest_arrays
    from xlate.models.rerank.lists import given_list, held_references

    held: list[list[str]] = []

    def noted() -> Iterator[list[Hypothesis]]:
        for group in given_list(config).lists() if lists is None else lists:
            held.append(held_references(group))
            yield group

    arrays = nbest_arrays(noted(), config.nbest)
    found = read_references(config.ref, arrays.sentence_I, config.first_id)
    if not config.ref and all(held):
        found = [*map(present, held)]
    if needed and not found:
        _needed(None, "ref", "[FILE,…]")
    return arrays, found


def _needed(value: str | None, key: str, kind: str) -> str:
    if value is None:
        raise InputError("a required value is missing", f"{key} is not set", f"{key}={kind}")
    return value


def _bleu(arrays: NbestArrays, references: list[list[str]]) -> tuple[dict[str, float], Any]:
    """BLEU on the tokens as they are, rounded to two digits, and the choice of the oracle, (I,)."""
    from xlate.candidates.nbest import nbest_statistics
    from xlate.search import oracle

    stats_CK = nbest_statistics(arrays, references)
    offsets = arrays.candidate_offsets_I1
    best, first = oracle.oracle(stats_CK, offsets), oracle.choice(stats_CK, arrays.first_I)
    worst = oracle.oracle(stats_CK, offsets, worst=True)
    return {"oracle": round(best.bleu, 2), "first": round(first.bleu, 2), "worst": round(worst.bleu, 2)}, best.chosen_I
