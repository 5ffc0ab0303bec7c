"""Lists, tables and models of other systems, as found: each is read, with its size, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.formats.cdec import read_cdec_grammar
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.formats.scfg import normal_form

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

# The file: lists, hypotheses and features, or part of the message it is refused with.
LISTS: dict[str, tuple[int, int, int] | str] = {
    "cdec-cfg-rescore.gold.nbest.gz": (1, 4, 3),
    "cdec-lattice.gold.nbest.gz": (2, 9, 7),
    "joshua-bn-en-hiero.kbest-quoted.gz": ":1: no sentence number",
    "joshua-kbest-extraction.nbest.gz": (1, 3126, 4),
    "joshua-phrase-decoder.nbest.gz": (1, 1, 9),
    "marian-ape.nbest.gz": (100, 400, 1),
    "marian-softalign.nbest.gz": (30, 90, 1),
    "marian-wmt16.nbest.gz": (100, 500, 1),
    "moses-mert-example.NBEST.gz": (3, 300, 15),
    "moses-mert-scorer.nbest.gz": (50, 5000, 15),
    "moses-promix.nbest.gz": (1, 100, 14),
    "moses-promix.segments.nbest.gz": (1, 100, 14),
    "phrasal-improperFeatures.bad.nbest.gz": ":1: not a number: NotANumber",
    "phrasal-properSample.nbest.gz": (2, 398, 15),
}
GRAMMAR = ":1: rules of a grammar, not phrase pairs"
# The file: pairs, source and target phrases, or part of the message.
TABLES: dict[str, tuple[int, int, int] | str] = {
    "cdec-nc-wmt11-de-en.scfg.gz": GRAMMAR,
    "joshua-bn-en-hiero/glue-grammar": GRAMMAR,
    "joshua-phrase-es-en/rules.1.gz": (165_161, 18, 148_635),
    "moses-promix-es-en.phrase-table.gz": (15_117, 25, 13_756),
}


def size_of_list(path: Path) -> tuple[int, int, int]:
    arrays = nbest_arrays(by_sentence(iterate_hypotheses(path), path), path)
    return len(arrays.sentence_I), len(arrays.total_C), len(arrays.names)


def size_of_table(path: Path) -> tuple[int, int, int]:
    table = read_phrase_table(path).table
    return len(table), len(table.source_phrases), len(table.target_phrases)


@pytest.mark.parametrize(
    ("size_of", "name", "expected"),
    [
        *((size_of_list, f"nbest/{name}", expected) for name, expected in LISTS.items()),
        *((size_of_table, f"foreign-models/{name}", expected) for name, expected in TABLES.items()),
    ],
)
def test_lists_and_tables(
    shared_data: Path, size_of: Callable[[Path], tuple[int, int, int]], name: str, expected: tuple[int, int, int] | str
) -> None:
    path = shared_data / name
    if isinstance(expected, str):
        with pytest.raises(InputError, match=f"{path.name}{expected}"):
            size_of(path)
    else:
        assert size_of(path) == expected


def test_how_much_of_a_grammar_of_cdec_is_in_target_normal_form(shared_data: Path) -> None:
    grammar = read_cdec_grammar(shared_data / "foreign-models" / "cdec-nc-wmt11-de-en.scfg.gz")
    share = "20334 of 72745 rules (28.0 %) are in target normal form, 11361 of the 63772 with non-terminals (17.8 %)"
    assert normal_form(grammar)[0] == share
    assert grammar.dense_BD.shape == (72_745, 7)
