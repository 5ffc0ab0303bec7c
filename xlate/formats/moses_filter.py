"""The part of a Moses system that a given text needs: its tables with only the phrases that occur there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from xlate.formats.moses_ini import FeatureLine, MosesIni, read_moses_ini
from xlate.progress import track
from xlate.text.folders import claim_folder
from xlate.text.lines import iterate_lines, write_lines

TABLES = ("PhraseDictionaryMemory", "LexicalReordering")
LONGEST = 7
# Says that a folder is a filtered system.
MARK = "xlate-filtered.json"


def filter_moses_system(
    path: str | Path, folder: str | Path, sentences: Iterable[Sequence[str]], longest: int = LONGEST
) -> Path:
    """Writes a system that translates the sentences as the whole one does; returns its configuration.

    Phrase and reordering tables keep the lines whose source phrase occurs; all other files stay where they are and are
    named by their full path.

    Args:
        path: a moses.ini.
        folder: where the new moses.ini and tables go.
        sentences: source words.
        longest: the most words of a source phrase.

    Raises:
        InputError: whatever reading the configuration and its tables raises; the folder holds something else.
    """
    ini, folder = read_moses_ini(path), Path(folder)
    claim_folder(folder, "a filtered system", MARK, "name another folder")
    phrases = {
        " ".join(words[start:end])
        for words in sentences
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + longest) + 1)
    }
    moved: dict[str, Path] = {}
    for feature in ini.features:
        if "path" in feature.arguments:
            moved[feature.name] = ini.file(feature).resolve()
        if feature.kind in TABLES:
            small = folder / f"{feature.name}.gz"
            write_lines(small, _occurring(moved[feature.name], phrases))
            moved[feature.name] = small.resolve()
    write_lines(folder / "moses.ini", _configuration(ini, moved))
    return folder / "moses.ini"


def _occurring(table: Path, phrases: set[str]) -> Iterator[str]:
    for line in track(iterate_lines(table), "filtering table"):
        if line.partition(" |||")[0] in phrases:
            yield line


def _configuration(ini: MosesIni, moved: dict[str, Path]) -> Iterator[str]:
    yield "[feature]"
    for feature in ini.features:
        yield " ".join([feature.kind, *_arguments(feature, moved)])
    for section, lines in ini.settings.items():
        yield from (f"[{section}]", *lines)
    yield "[weight]"
    for name, values in ini.weights.items():
        yield f"{name}= {' '.join(map(repr, values))}"


def _arguments(feature: FeatureLine, moved: dict[str, Path]) -> Iterator[str]:
    for key, value in {"name": feature.name, **feature.arguments}.items():
        yield f"{key}={moved[feature.name] if key == 'path' else value}"
