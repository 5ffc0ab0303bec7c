"""Which files a corpus is read from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xlate.errors import InputError
from xlate.text.folders import WholeFolder, holds, without_mark
from xlate.text.lines import atomic_write
from xlate.work.settings import DataConfig

SPLITS = ("train", "dev", "test")
SIDES = ("source", "target")
MADE = "made.json"
_FACTOR_FILES = re.compile(rf"({'|'.join(SPLITS)})_({'|'.join(SIDES)})_(.+)")


@dataclass(frozen=True)
class CorpusFiles:
    """The files a data configuration names, with every placeholder filled in.

    Attributes:
        tagger_classes: the word classes that the source is tagged with.
        factors: by split and side, the files of each factor that has files of its own, one for each text.
        documents: by split, the files that name the document of each sentence, one for each text.
    """

    source_language: str
    target_language: str
    train_source: list[Path]
    train_target: list[Path]
    dev_source: Path | None
    dev_references: list[Path]
    test_source: Path | None
    test_references: list[Path]
    lm_text: list[Path]
    tagger_classes: Path | None = None
    factors: Mapping[tuple[str, str], Mapping[str, list[Path]]] = field(default_factory=dict)
    documents: Mapping[str, list[Path]] = field(default_factory=dict)

    def all(self) -> list[Path]:
        """Every file of text, in a fixed order."""
        single = [path for path in (self.dev_source, self.test_source) if path is not None]
        many = (self.train_source, self.train_target, self.dev_references, self.test_references, self.lm_text)
        return [path for group in many for path in group] + single

    def texts(self, split: str, side: str) -> list[Path]:
        """The files of a side of `train`, `dev` or `test`."""
        if split == "train":
            return self.train_source if side == "source" else self.train_target
        source, references = {
            "dev": (self.dev_source, self.dev_references),
            "test": (self.test_source, self.test_references),
        }[split]
        return references if side == "target" else [source] if source is not None else []

    def factors_of(self, split: str, side: str, number: int) -> dict[str, Path]:
        """The files of the factors that stand beside one of the texts of a side."""
        return {name: paths[number] for name, paths in self.factors.get((split, side), {}).items()}


def resolve_files(data: DataConfig, work: Path) -> CorpusFiles:
    """Fills `{root}`, `{source}`, `{target}` and `{work}` into the file names of a data configuration.

    Raises:
        InputError: XLATE_DATA is needed and not set, the pair is not `a-b`, a side has no training file, or files of
            factors or documents do not pair up with the texts.
    """
    source, dash, target = data.pair.partition("-")
    if not (source and dash and target):
        raise InputError("not a language pair", seen=data.pair, expected="data.pair=SOURCE-TARGET, such as de-en")

    def fill(template: str) -> Path:
        if "{root}" in template and not data.root:
            raise InputError(
                "the folder of corpora is not known",
                seen="XLATE_DATA is not set",
                expected="the folder that holds the corpora",
                remedy="export XLATE_DATA=FOLDER, or give data.root=FOLDER",
            )
        names = {"{root}": data.root or "", "{source}": source, "{target}": target, "{work}": str(work)}
        for name, value in names.items():
            template = template.replace(name, value)
        return Path(template)

    factors: dict[tuple[str, str], dict[str, list[Path]]] = {}
    for key, templates in data.factor_files.items():
        split, side, name = _factor_key(key)
        factors.setdefault((split, side), {})[name] = [fill(t) for t in templates]
    files = CorpusFiles(
        source_language=source,
        target_language=target,
        train_source=[fill(t) for t in data.train_source],
        train_target=[fill(t) for t in data.train_target],
        dev_source=fill(data.dev_source) if data.dev_source else None,
        dev_references=[fill(t) for t in data.dev_references],
        test_source=fill(data.test_source) if data.test_source else None,
        test_references=[fill(t) for t in data.test_references],
        lm_text=[fill(t) for t in data.lm_text],
        tagger_classes=fill(data.tagger_classes) if data.tagger_classes else None,
        factors=factors,
        documents={split: [fill(t) for t in templates] for split, templates in data.documents.items()},
    )
    _check_pairing(files)
    return files


def _factor_key(key: str) -> tuple[str, str, str]:
    found = _FACTOR_FILES.fullmatch(key)
    if found is None:
        expected = "SPLIT_SIDE_FACTOR, such as train_source_pos"
        raise InputError("not files of a factor", seen=f"data.factor_files.{key}", expected=expected)
    return found[1], found[2], found[3]


def _check_pairing(files: CorpusFiles) -> None:
    if not files.train_source or len(files.train_source) != len(files.train_target):
        raise InputError(
            "training files do not pair up",
            seen=f"{len(files.train_source)} source and {len(files.train_target)} target files",
            expected="as many of one as of the other, at least one",
        )
    beside = {f"data.documents.{split}": (paths, split, "source") for split, paths in files.documents.items()}
    for (split, side), named in files.factors.items():
        beside |= {f"data.factor_files.{split}_{side}_{name}": (paths, split, side) for name, paths in named.items()}
    for key, (paths, split, side) in beside.items():
        if split not in SPLITS:
            raise InputError("unknown part of a corpus", seen=key, expected=", ".join(SPLITS))
        texts = len(files.texts(split, side))
        if len(paths) != texts or not texts:
            raise InputError(
                "files do not pair up with the texts that they are of",
                seen=f"{len(paths)} files of {key}, {texts} of the {side} of {split}",
                expected="one for each text",
            )


def write_demo_corpus(data: DataConfig, work: Path) -> None:
    """Writes the built-in corpus into the work directory when the configuration asks for it.

    Raises:
        InputError: the folder it goes to is not ours.
    """
    if data.generated is None:
        return
    from xlate.demo.corpus import DemoCorpus

    size = data.generated
    folder = work / "generated"
    sizes = {"seed": size.seed, "train": size.train, "dev": size.dev, "test": size.test}
    wanted = json.dumps({**sizes, **({"factored": True} if size.factored else {})})
    if holds(folder / MADE, wanted):
        return
    remedy = f"move it away, or name another folder than {work}"
    with WholeFolder(folder, "the built-in corpus", without_mark(MADE, '"seed"'), remedy) as aside:
        corpus = DemoCorpus(size.seed)
        corpus.write(aside, train=size.train, dev=size.dev, test=size.test, factored=size.factored)
        with atomic_write(aside / MADE) as stream:
            stream.write(wanted.encode("utf-8"))
