"""Lists, tables and models of other systems, as found: each is read, with its size, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.candidates.nbest import nbest_arrays
from xlate.errors import InputError
from xlate.formats.moses_ini import read_moses_ini
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.text.lines import read_parallel, read_references

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
    "joshua-bn-en-hiero/grammar.gz": GRAMMAR,
    "joshua-phrase-es-en/rules.1.gz": (165_161, 18, 148_635),
    "moses-promix-es-en.phrase-table.gz": (15_117, 25, 13_756),
}
TEXTS = {
    "nbest": ["moses-mert-example.REF.0.gz", "moses-mert-example.REF.1.gz", "moses-mert-example.REF.2.gz",
              "moses-mert-scorer.ref.gz"],
    "foreign-models": ["joshua-bn-en-hiero/input.bn", *(f"joshua-bn-en-hiero/reference.en.{n}" for n in range(4))],
}  # fmt: skip
OTHERS = ["joshua-bn-en-hiero/joshua.config", "joshua-bn-en-hiero/lm.gz"]


def test_every_file_is_looked_at(shared_data: Path) -> None:
    for folder, named in (("nbest", [*LISTS]), ("foreign-models", [*TABLES, *OTHERS])):
        there = {p.relative_to(shared_data / folder).as_posix() for p in (shared_data / folder).rglob("*")}
        files = {name for name in there if (shared_data / folder / name).is_file()}
        assert files == {*named, *TEXTS[folder]}


@pytest.mark.parametrize("name", LISTS)
def test_lists(shared_data: Path, name: str) -> None:
    path, expected = shared_data / "nbest" / name, LISTS[name]
    if isinstance(expected, str):
        with pytest.raises(InputError) as caught:
            nbest_arrays(by_sentence(iterate_hypotheses(path), path), path)
        assert str(caught.value).startswith(f"{path}{expected}")
        return
    arrays = nbest_arrays(by_sentence(iterate_hypotheses(path), path), path)
    assert (len(arrays.sentence_I), len(arrays.total_C), len(arrays.names)) == expected


@pytest.mark.parametrize("name", TABLES)
def test_tables(shared_data: Path, name: str) -> None:
    path, expected = shared_data / "foreign-models" / name, TABLES[name]
    if isinstance(expected, str):
        with pytest.raises(InputError) as caught:
            read_phrase_table(path)
        assert str(caught.value).startswith(f"{path}{expected}")
        return
    table = read_phrase_table(path).table
    assert (len(table), len(table.source_phrases), len(table.target_phrases)) == expected


def test_the_language_model_and_the_configuration_of_joshua(shared_data: Path) -> None:
    folder = shared_data / "foreign-models" / "joshua-bn-en-hiero"
    arpa = read_arpa(folder / "lm.gz")
    assert arpa.counts == [22_968, 147_032, 43_751, 26_915, 18_863]
    assert NgramModel.from_arpa(arpa).order == 5
    with pytest.raises(InputError, match=r"joshua\.config:2: text before the first section"):
        read_moses_ini(folder / "joshua.config")


def test_texts_beside_them(shared_data: Path) -> None:
    folder = shared_data / "foreign-models" / "joshua-bn-en-hiero"
    references = [folder / f"reference.en.{number}" for number in range(4)]
    assert len(read_parallel(folder / "input.bn", references[0])[0]) == 100
    assert [len(lines) for lines in read_references(references, 100)] == [100] * 4
    examples = [shared_data / "nbest" / name for name in TEXTS["nbest"]]
    assert [len(read_references([path], count)[0]) for path, count in zip(examples, (3, 3, 3, 50), strict=True)]
