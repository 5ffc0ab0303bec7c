"""The files of a corpus, whether its settings fit together, and what its stage depends on."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlate.errors import InputError, refuse_if
from xlate.settings import Json, plain
from xlate.text.classes import Tagger, hanta_version, open_tagger, read_classes, write_classes
from xlate.text.factors import FactorNames
from xlate.text.folders import Fields, holds, whole_folder, without_mark
from xlate.text.lines import write_file
from xlate.work.settings import DataConfig
from xlate.work.stages import file_hash

SPLITS = ("train", "dev", "test")
SIDES = ("source", "target")
MADE = "made.json"
_FACTOR_FILES = re.compile(rf"({'|'.join(SPLITS)})_({'|'.join(SIDES)})_(.+)")


@dataclass(frozen=True)
class CorpusFiles:
    """The files a data configuration names, with every placeholder filled in, and that configuration.

    Attributes:
        data: the configuration.
        languages: those of `source` and `target`.
        held: the files of text by split and side; further translations of the training text are the sides
            `reference.0` and so on, and handled like its target.
        tagger_classes: the word classes that the source is tagged with.
        factors: by split and side, the files of each factor that has its own files, one per text.
        documents: by split, the files that name the document of each sentence, one per text.
    """

    data: DataConfig
    languages: Mapping[str, str]
    held: Mapping[tuple[str, str], list[Path]]
    lm_text: list[Path]
    tagger_classes: Path | None = None
    factors: Mapping[tuple[str, str], Mapping[str, list[Path]]] = field(default_factory=dict)
    documents: Mapping[str, list[Path]] = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        """The names of further translations of the training text."""
        return [side for split, side in self.held if split == "train" and side not in SIDES]

    def joined_factors(self, side: str) -> FactorNames:
        """The factors that are joined to the words in a side's files."""
        joined = self.data.source_factors if side == "source" else self.data.target_factors
        return FactorNames(tuple(joined), self.data.factor_separator)

    def factor_paths(self, split: str, side: str, number: int) -> dict[str, Path]:
        """The files of the factors of one text that have their own files."""
        return {name: paths[number] for name, paths in self.factors.get((split, side), {}).items()}

    def factor_names(self, side: str) -> FactorNames:
        """All factors of a side: first those joined to its words, then those with their own files."""
        joined = self.joined_factors(side)
        return replace(joined, names=(*joined.names, *self.factors.get(("train", side), {})))


def resolve_files(data: DataConfig, work: Path) -> CorpusFiles:
    """Fills `{root}`, `{source}`, `{target}` and `{work}` into the file names of a data configuration.

    Raises:
        InputError: XLATE_DATA is needed and not set, the pair is not `a-b`, a side has no training file, or files of
            factors or documents do not match the texts.
    """
    source, dash, target = data.pair.partition("-")
    refuse_if(
        not (source and dash and target), "not a language pair", data.pair, "data.pair=SOURCE-TARGET, such as de-en"
    )

    def fill(template: str) -> Path:
        refuse_if(
            "{root}" in template and not data.root,
            "the folder of the corpora is unknown",
            "XLATE_DATA is not set",
            "the folder that holds the corpora",
            "export XLATE_DATA=FOLDER, or set data.root=FOLDER",
        )
        names = {"{root}": data.root or "", "{source}": source, "{target}": target, "{work}": str(work)}
        for name, value in names.items():
            template = template.replace(name, value)
        return Path(template)

    texts = {
        ("train", "source"): data.train_source,
        ("train", "target"): data.train_target,
        ("dev", "source"): [data.dev_source] if data.dev_source else [],
        ("dev", "target"): data.dev_references,
        ("test", "source"): [data.test_source] if data.test_source else [],
        ("test", "target"): data.test_references,
        **{("train", f"reference.{number}"): [name] for number, name in enumerate(data.train_references)},
    }
    files = CorpusFiles(
        data=data,
        languages={"source": source, "target": target},
        held={key: [fill(t) for t in templates] for key, templates in texts.items()},
        lm_text=[fill(t) for t in data.lm_text],
        tagger_classes=fill(data.tagger_classes) if data.tagger_classes else None,
        factors=_factor_files(data, fill),
        documents={split: [fill(t) for t in templates] for split, templates in data.documents.items()},
    )
    _check_pairing(files)
    return files


def _factor_files(data: DataConfig, fill: Callable[[str], Path]) -> dict[tuple[str, str], dict[str, list[Path]]]:
    """The files of factors by split and side, then by factor."""
    factors: dict[tuple[str, str], dict[str, list[Path]]] = {}
    for key, templates in data.factor_files.items():
        found = _FACTOR_FILES.fullmatch(key)
        if found is None:
            raise InputError(
                "not files of a factor", f"data.factor_files.{key}", "SPLIT_SIDE_FACTOR, such as train_source_pos"
            )
        factors.setdefault((found[1], found[2]), {})[found[3]] = [fill(t) for t in templates]
    return factors


def _check_pairing(files: CorpusFiles) -> None:
    sources, targets = (len(files.held["train", side]) for side in SIDES)
    refuse_if(
        not sources or sources != targets,
        "training files do not pair up",
        f"{sources} source and {targets} target files",
        "the same number of each, at least one",
    )
    beside = {f"data.documents.{split}": (paths, split, "source") for split, paths in files.documents.items()}
    for (split, side), named in files.factors.items():
        beside |= {f"data.factor_files.{split}_{side}_{name}": (paths, split, side) for name, paths in named.items()}
    for key, (paths, split, side) in beside.items():
        if split not in SPLITS:
            raise InputError("unknown part of a corpus", key, ", ".join(SPLITS))
        texts = len(files.held[split, side])
        if len(paths) != texts or not texts:
            raise InputError(
                "files do not pair up with their texts",
                f"{len(paths)} files of {key}, {texts} of the {side} of {split}",
                "one per text",
            )


def write_demo_corpus(data: DataConfig, work: Path) -> None:
    """Writes the built-in corpus into the work directory when the configuration asks for it.

    Raises:
        InputError: the folder it is written to is not ours.
    """
    if data.generated is None:
        return
    from xlate.demo.corpus import DemoCorpus

    size = data.generated
    folder = work / "generated"
    wanted = json.dumps({name: value for name, value in plain(size).items() if value is not False})
    if holds(folder / MADE, wanted):
        return
    remedy = f"move it away, or name another folder than {work}"
    with whole_folder(folder, "the built-in corpus", without_mark(MADE, '"seed"'), remedy) as aside:
        corpus = DemoCorpus(size.seed)
        corpus.write(aside, train=size.train, dev=size.dev, test=size.test, factored=size.factored)
        write_file(aside / MADE, wanted)


_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def word_splits(data: DataConfig) -> list[str]:
    """How source words are split: `compounds`, `affixes`, both, or not at all."""
    return [name for name in ("compounds", "affixes") if getattr(data, name)]


def check_settings(files: CorpusFiles) -> None:
    """Checks that the settings of a corpus fit together.

    Raises:
        InputError: they do not.
    """
    data = files.data
    refuse_if(
        data.dev_pairs and data.dev_source is not None,
        "pairs cannot be held out of the training text as a dev set",
        f"data.dev_pairs={data.dev_pairs}, data.dev_source={data.dev_source}",
        "no separate dev set",
        "leave out one of the two settings",
    )
    refuse_if(
        word_splits(data) and (data.tagger or files.factor_names("source").names),
        "factors of words that are split",
        f"{', '.join(word_splits(data))}, data.tagger={data.tagger} data.source_factors={list(data.source_factors)}",
        "either of them",
        "leave out data.compounds and data.affixes, or the tagger and the factors of the source",
    )
    for side in SIDES:
        _check_factors(files, side)


def check_dev_set(data: DataConfig) -> None:
    """Checks that there is a dev set with references, by which trainings learn or choose.

    Raises:
        InputError: there is none, and the settings do not allow this.
    """
    refuse_if(
        data.dev_source is not None and not data.dev_references,
        "a dev set without references",
        "data.dev_references is empty",
        "data.dev_references=[FILE,…]",
        "if this text has no translations, data.dev_pairs=1000 takes the last 1000 training pairs",
        data.dev_source,
    )
    refuse_if(
        data.dev_source is None and data.dev_pairs is None,
        "no dev set",
        "neither data.dev_source nor data.dev_pairs is set",
        "data.dev_source=FILE data.dev_references=[FILE], or data.dev_pairs=N",
        "data.dev_pairs=1000 takes the last 1000 training pairs; data.dev_pairs=0 means no dev set, "
        "but most kinds of training need one",
    )


def _check_factors(files: CorpusFiles, side: str) -> None:
    data, names = files.data, files.factor_names(side).names
    wrong = [name for name in names if not _FACTOR.fullmatch(name) or names.count(name) > 1]
    if wrong:
        raise InputError(f"not the name of a {side} factor", wrong[0], "short names, each once")
    # A factor of the training text is required in every source too; references may lack it.
    trained = files.factors.get(("train", side), {}).keys()
    for split in SPLITS[1:]:
        held = files.factors.get((split, side), {}).keys()
        wanted = trained if held or (side == "source" and files.held[split, side]) else held
        if held != wanted:
            seen = ", ".join(f"{split}_{side}_{name}" for name in sorted(held)) or "none"
            raise InputError(
                "the factors of a text differ",
                f"data.factor_files: {seen}",
                ", ".join(f"{split}_{side}_{name}" for name in sorted(wanted)) or "none, as for the training text",
            )
    if names and (data.tokenize or set(data.tokenized) & set(SPLITS)):
        raise InputError(
            "text with factors cannot be tokenised, because factors belong to its tokens",
            f"factors {', '.join(names)}, data.tokenize={data.tokenize}, data.tokenized={data.tokenized}",
            "data.tokenize=false, and no data.tokenized",
            "tokenise first, then find the factors of the tokens; or let data.tagger find them in raw text",
        )
    separator = data.factor_separator
    refuse_if(
        names and (not separator or any(c.isspace() for c in separator)),
        "cannot separate factors",
        repr(separator),
        "a symbol without blanks",
    )


def corpus_identity(files: CorpusFiles) -> Json:
    """Everything the corpus stage depends on."""
    data = files.data
    # Included only if given.
    later: Json = {
        "dev_pairs": data.dev_pairs or None,
        "split": word_splits(data),
        "drop_copied": data.drop_copied,
        "train_references": [file_hash(*files.held["train", name]) for name in files.references],
        "tokenized": sorted(data.tokenized),
        "factors": {
            side: {
                "joined": list(files.joined_factors(side).names),
                "separator": data.factor_separator,
                "files": {
                    f"{split}_{name}": [file_hash(path) for path in paths]
                    for split in SPLITS
                    for name, paths in files.factors.get((split, side), {}).items()
                },
            }
            for side in SIDES
            if files.factor_names(side).names
        },
        "tagger": tagger_record(files),
        "documents": {split: [file_hash(path) for path in paths] for split, paths in files.documents.items()},
        "document_pattern": data.document_pattern if files.documents else None,
    }
    order = [("train", "source"), *((split, "target") for split in SPLITS)]
    texts = [*map(files.held.__getitem__, order), files.lm_text, *(files.held[split, "source"] for split in SPLITS[1:])]
    return {
        "files": [file_hash(path) for paths in texts for path in paths],
        "references": [len(files.held[split, "target"]) for split in SPLITS[1:]],
        "languages": list(files.languages.values()),
        "tokenize": data.tokenize,
        "case": data.case,
        "max_words": data.max_words,
        "max_sentences": data.max_sentences,
        **{key: value for key, value in later.items() if value},
        "version": 2,
    }


log = logging.getLogger(__name__)
CLASSES = "classes"
# What a work directory records about its tagger; the version is HanTa's, or the SHA-256 of the file of classes.
TAGGER: Fields = {"name": str, "version": str}
STORED_CLASSES = "tagger.classes"


def tagger_record(files: CorpusFiles) -> dict[str, str]:
    """The tagger of a corpus and its version; empty if it has none.

    Raises:
        InputError: settings do not fit together, HanTa is needed and not installed, or a file of classes cannot be
            read.
    """
    data = files.data
    refuse_if(
        (data.tagger == CLASSES) != (files.tagger_classes is not None),
        "only the tagger by word classes needs a file of classes",
        f"data.tagger={data.tagger}, data.tagger_classes={data.tagger_classes}",
        "data.tagger=classes data.tagger_classes=FILE, or neither",
    )
    if data.tagger is None:
        return {}
    if own := files.factor_names("source").names:
        raise InputError(
            "a source that has factors cannot be tagged",
            f"data.tagger={data.tagger}, factors {', '.join(own)}",
            "one of the two",
            "to have several factors, write them into the text; xlate tag writes one",
        )
    version = hanta_version() if files.tagger_classes is None else file_hash(files.tagger_classes)
    return {"name": data.tagger, "version": version}


def keep_tagger(files: CorpusFiles, folder: Path) -> Tagger | None:
    """Opens the tagger of a corpus and stores its classes in the folder of the stage.

    Raises:
        InputError: as `tagger_record` and `open_tagger` do.
    """
    if not tagger_record(files):
        return None
    if files.tagger_classes is not None:
        write_classes(folder / STORED_CLASSES, read_classes(files.tagger_classes))
    return open_tagger(files.languages["source"], files.tagger_classes)


def kept_tagger(record: Mapping[str, str], language: str, folder: Path) -> Tagger:
    """The tagger that a corpus was prepared with; warns if HanTa's version has changed.

    Raises:
        InputError: as `open_tagger` does.
    """
    if record["name"] == CLASSES:
        return open_tagger(language, folder / STORED_CLASSES)
    if (installed := hanta_version()) != record["version"]:
        log.warning("%s was tagged by HanTa %s, but the installed version is %s", folder, record["version"], installed)
    return open_tagger(language)
