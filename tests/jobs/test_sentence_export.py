"""Tables of single lines: read back they are the model itself, and their fields are those of Moses's own tables."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.models.phrase.small_phrase_models import RandomPlaces, RandomScores, random_phrase_model, random_weights
from xlate.formats.moses_table import phrases_in, read_phrase_table
from xlate.formats.reordering_table import read_reordering_table
from xlate.formats.sentence_tables import INPUT, MARK
from xlate.jobs.moses_export import ExportedTables
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel, Reordering, SentencePhrases
from xlate.search.settings import PhraseSearch
from xlate.text.folders import write_json
from xlate.text.lines import iterate_lines, read_lines, write_lines

TEXT = [list("abcab"), [], ["d", "zz", "a", "zz"], list("aabbaa")]


class Negative(RandomScores):
    """Logs of probabilities."""

    def of(self, phrases: SentencePhrases) -> NDArray[np.float64]:
        """Below 0, but for words that stand for themselves."""
        return np.where(np.asarray(phrases.pair_O)[:, None] < 0, 0.0, super().of(phrases) - 1.5)


@pytest.mark.parametrize(("seed", "inside"), [(0, False), (3, True), (5, False)])
def test_read_back_they_translate_as_the_model_does(tmp_path: Path, seed: int, inside: bool) -> None:
    rng = np.random.default_rng(seed)
    model = random_phrase_model(rng, "hier", 5)
    model = replace(model, in_sentence=Negative() if seed != 5 else None, placed=RandomPlaces() if seed > 2 else None)
    weights_D = random_weights(rng, model.size)
    decoder = PhraseDecoder(
        model, weights_D, PhraseSearch(algorithm="stack", stack=50, options=3, nbest=20, distinct=False)
    )
    tables = ExportedTables(decoder, TEXT, False, inside)
    assert tables.write(tmp_path) > 0
    write_json(tmp_path / MARK, {"tables": True, "escaped": False})
    if inside:
        # What the reader is given must come from the files.
        model = replace(model, reordering=Reordering("hier", np.full((len(model.table), 6), 0.5)))
    of_number = decoder.changed(model=model).with_tables(tmp_path, len(TEXT))
    for number, words in enumerate(TEXT):
        expected, found = decoder.translate(words), of_number(number).translate(words)
        assert [d.words for d in found] == [d.words for d in expected]
        assert [d.score for d in found] == pytest.approx([d.score for d in expected])
        for one, other in zip(found, expected, strict=True):
            assert one.features_D == pytest.approx(other.features_D)
            assert [step.source_span for step in one.steps] == [step.source_span for step in other.steps]


def exported(model: PhraseModel, folder: Path) -> ExportedTables:
    tables = ExportedTables(PhraseDecoder(model, np.ones(model.size), PhraseSearch()), TEXT, False, False)
    tables.write(folder)
    return tables


def test_repeated_words_are_numbered_where_they_have_translations(tmp_path: Path) -> None:
    model = replace(random_phrase_model(np.random.default_rng(1), None), in_sentence=Negative())
    exported(model, tmp_path)
    assert read_lines(tmp_path / INPUT) == ["a b c a@@2 b@@2", "", "d zz a zz", "a a@@2 b b@@2 a@@3 a@@4"]
    assert "path=$number.gz" in (tmp_path / "translate.sh").read_text()


def fields(path: Path) -> dict[tuple[str, ...], list[str]]:
    """Lines by their two phrases, in their order."""
    return {tuple(parts[:2]): parts[2:] for parts in (line.split(" ||| ") for line in read_lines(path))}


@pytest.mark.corpus
@pytest.mark.parametrize("inside", [False, True])
def test_their_fields_are_those_of_mosess_own_tables(shared_data: Path, tmp_path: Path, inside: bool) -> None:
    moses = shared_data / "moses"
    text = [line.split() for line in islice(iterate_lines(moses / "corpus" / "test_2016_flickr.tok.de.gz"), 20)]
    wanted, paths = phrases_in(text, 7), [tmp_path / "phrases", tmp_path / "reordering"]
    for path, name in zip(paths, ("phrase-table", "reordering-table.hier-msd-bidirectional-fe"), strict=True):
        lines = iterate_lines(moses / "model" / f"{name}.gz")
        write_lines(path, (line for line in lines if line.partition(" ||| ")[0] in wanted))
    phrases, reordering = map(fields, paths)
    read = read_phrase_table(paths[0])
    probability = read_reordering_table(paths[1], *read)
    lm = random_phrase_model(np.random.default_rng(0), None).lm
    model = PhraseModel(*read, lm, Reordering("hier", probability), in_sentence=Negative())
    most = len(model.table)
    decoder = PhraseDecoder(model, np.ones(model.size), PhraseSearch(algorithm="stack", options=most))
    assert ExportedTables(decoder, text, False, inside).write(tmp_path) > 1000
    order = {pair: place for place, pair in enumerate(phrases)}
    for number in range(len(text)):
        found = fields(tmp_path / f"{number}.gz")
        beside = {} if inside else fields(tmp_path / f"reordering.{number}.gz")
        plain = [pair for pair in found if "@@" not in pair[0]]
        assert plain == sorted(plain, key=order.__getitem__)
        for (source, target), (scores, *rest) in found.items():
            pair = " ".join(word.partition("@@")[0] for word in source.split(" ")), target
            numbers = scores.split(" ")
            assert [" ".join(numbers[:4]), *rest] == phrases[pair]
            assert all(0 < float(value) < 1 for value in numbers[4:6])
            assert " ".join(numbers[6:] if inside else beside[source, target][0].split(" ")) == reordering[pair][0]


def test_the_script_gives_moses_each_line_with_its_tables(tmp_path: Path) -> None:
    model = replace(random_phrase_model(np.random.default_rng(1), "hier"), in_sentence=Negative())
    (tmp_path / "moses.ini").write_text("\n".join(exported(model, tmp_path).features))
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\ngrep -o "path=[^ ]*" "$2" | tr "\\n" " "\ncat\n')
    program.chmod(0o755)
    command = ["bash", f"{tmp_path}/translate.sh"]
    done = subprocess.run(
        command, env={**os.environ, "MOSES": str(program)}, capture_output=True, text=True, check=True
    )
    lines = read_lines(tmp_path / INPUT)
    assert done.stdout.splitlines() == [f"path={n}.gz path=reordering.{n}.gz {line}" for n, line in enumerate(lines)]
