"""The first stage of prepare: from raw text files to tokens, cases, vocabularies."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlate.arrays.stored import save_arrays
from xlate.config.schema import DataConfig
from xlate.errors import InputError
from xlate.jobs.prepare.stages import file_hash
from xlate.jobs.prepare.work import VOCABULARIES
from xlate.text.folders import WholeFolder, holds, without_mark
from xlate.text.json_files import write_json
from xlate.text.lines import atomic_write, read_lines, write_lines
from xlate.text.parallel import ParallelText, drop_unusable, read_parallel, read_references
from xlate.text.tokens import Preprocessor, preprocess_lines, untokenized_lines
from xlate.text.truecase import Truecaser
from xlate.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)
CASES = ("true", "lower", "keep")
PARTS = ("train", "dev", "test", "lm_text")
MADE = "made.json"


@dataclass(frozen=True)
class CorpusFiles:
    """The files a data configuration names, with every placeholder filled in."""

    source_language: str
    target_language: str
    train_source: list[Path]
    train_target: list[Path]
    dev_source: Path | None
    dev_references: list[Path]
    test_source: Path | None
    test_references: list[Path]
    lm_text: list[Path]

    def all(self) -> list[Path]:
        """Every file, in a fixed order."""
        single = [path for path in (self.dev_source, self.test_source) if path is not None]
        many = (self.train_source, self.train_target, self.dev_references, self.test_references, self.lm_text)
        return [path for group in many for path in group] + single


def resolve_files(data: DataConfig, work: Path) -> CorpusFiles:
    """Fills `{root}`, `{source}`, `{target}` and `{work}` into the file names of a data configuration.

    Raises:
        InputError: XLATE_DATA is needed and not set, the pair is not `a-b`, or a side has no training file.
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
    )
    if not files.train_source or len(files.train_source) != len(files.train_target):
        raise InputError(
            "training files do not pair up",
            seen=f"{len(files.train_source)} source and {len(files.train_target)} target files",
            expected="as many of one as of the other, at least one",
        )
    return files


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
    wanted = json.dumps({"seed": size.seed, "train": size.train, "dev": size.dev, "test": size.test})
    if holds(folder / MADE, wanted):
        return
    remedy = f"move it away, or name another folder than {work}"
    with WholeFolder(folder, "the built-in corpus", without_mark(MADE, '"seed"'), remedy) as aside:
        DemoCorpus(size.seed).write(aside, train=size.train, dev=size.dev, test=size.test)
        with atomic_write(aside / MADE) as stream:
            stream.write(wanted.encode("utf-8"))


def corpus_identity(data: DataConfig, files: CorpusFiles) -> dict[str, Any]:
    """All that the corpus stage depends on."""
    return {
        "files": [file_hash(path) for path in files.all()],
        "references": [len(files.dev_references), len(files.test_references)],
        "languages": [files.source_language, files.target_language],
        "tokenize": data.tokenize,
        "case": data.case,
        "max_words": data.max_words,
        "max_sentences": data.max_sentences,
        # Named only when given, so that work directories made before there were such settings stay as they are.
        **({"dev_pairs": data.dev_pairs} if data.dev_pairs else {}),
        **({"tokenized": sorted(data.tokenized)} if data.tokenized else {}),
        "version": 1,
    }


def build_corpus(data: DataConfig, files: CorpusFiles, folder: Path) -> dict[str, Any]:
    """Reads, checks, tokenises and cases every file of the corpus into a stage folder.

    Raises:
        InputError: sides of unequal length, files that cannot be read, nothing left to train on.
    """
    _check(data)
    sides = {
        "source": Preprocessor(files.source_language, tokenize=data.tokenize),
        "target": Preprocessor(files.target_language, tokenize=data.tokenize),
    }
    source, target, dev = _training_lines(files, data)
    tokens = {
        "source": preprocess_lines(source, sides["source"]),
        "target": preprocess_lines(target, sides["target"]),
    }
    kept, dropped = drop_unusable(tokens["source"], tokens["target"], max_words=data.max_words)
    _tell_dropped(dropped, len(source))
    if not len(kept):
        raise InputError(
            "an empty corpus",
            file=files.train_source[0],
            seen=f"{len(source)} pairs, none usable",
            expected=f"pairs with words on both sides, at most {data.max_words} a side",
        )
    figures: dict[str, Any] = {"pairs": len(kept), "dropped": len(source) - len(kept)}
    for side in ("source", "target"):
        chosen = [tokens[side][i] for i in kept]
        caser = _caser(data.case, chosen, folder / f"truecase.{side}")
        cased = [_case(caser, data.case, t) for t in chosen]
        write_lines(folder / f"train.{side}.gz", (" ".join(t) for t in cased))
        vocabulary = Vocabulary.build(cased)
        vocabulary.save(folder / f"vocabulary.{side}")
        figures[f"{side}_words"] = sum(map(len, cased))
        figures[f"{side}_types"] = len(vocabulary)
        if side == "target" and files.lm_text:
            extra = [
                line for path in files.lm_text for line in _plain("lm_text", read_lines(path), "target", files, data)
            ]
            lm_tokens = preprocess_lines(extra, sides[side])
            write_lines(folder / "lm.target.gz", (" ".join(_case(caser, data.case, t)) for t in lm_tokens))
    for split, path, references in (
        ("dev", files.dev_source, files.dev_references),
        ("test", files.test_source, files.test_references),
    ):
        if path is not None:
            figures[split] = _write_split(split, path, references, folder, files, data)
    if dev is not None:
        write_lines(folder / "dev.source.gz", dev.source)
        write_lines(folder / "dev.reference.0.gz", dev.target)
        figures["dev"] = len(dev.source)
    settings = {
        "source_language": files.source_language,
        "target_language": files.target_language,
        "tokenize": data.tokenize,
        "case": data.case,
    }
    write_json(folder / "preprocessing.json", settings)
    save_arrays(folder, VOCABULARIES, {}, files=[f"vocabulary.{side}" for side in ("source", "target")])
    return figures


def _check(data: DataConfig) -> None:
    if data.case not in CASES:
        raise InputError("unknown casing", seen=data.case, expected=", ".join(CASES))
    unknown = [part for part in data.tokenized if part not in PARTS]
    if unknown:
        raise InputError("unknown part of a corpus", seen=f"data.tokenized={unknown}", expected=", ".join(PARTS))
    if data.dev_pairs is not None and (data.dev_source is not None or data.dev_pairs < 1):
        raise InputError(
            "pairs cannot be held out of the training text as a dev set",
            seen=f"data.dev_pairs={data.dev_pairs}, data.dev_source={data.dev_source}",
            expected="at least one pair, and no dev set of its own",
            remedy="leave out one of the two settings",
        )


def _plain(part: str, lines: list[str], side: str, files: CorpusFiles, data: DataConfig) -> list[str]:
    if part not in data.tokenized:
        return lines
    return untokenized_lines(lines, files.source_language if side == "source" else files.target_language)


def _training_lines(files: CorpusFiles, data: DataConfig) -> tuple[list[str], list[str], ParallelText | None]:
    """The training text, and the dev set that was its end."""
    source: list[str] = []
    target: list[str] = []
    for source_path, target_path in zip(files.train_source, files.train_target, strict=True):
        pair = read_parallel(source_path, target_path)
        source += pair.source
        target += pair.target
    source, target = _plain("train", source, "source", files, data), _plain("train", target, "target", files, data)
    held = min(data.dev_pairs or 0, len(source))
    kept = len(source) - held
    dev = ParallelText(source[kept:], target[kept:]) if held else None
    return source[:kept][: data.max_sentences], target[:kept][: data.max_sentences], dev


def _write_split(
    split: str, source: Path, references: Sequence[Path], folder: Path, files: CorpusFiles, data: DataConfig
) -> int:
    lines = _plain(split, read_lines(source), "source", files, data)
    write_lines(folder / f"{split}.source.gz", lines)
    for number, reference in enumerate(read_references(references, len(lines))):
        plain = _plain(split, reference, "target", files, data)
        write_lines(folder / f"{split}.reference.{number}.gz", plain)
    return len(lines)


def _caser(case: str, sentences: list[list[str]], path: Path) -> Truecaser | None:
    if case != "true":
        return None
    caser = Truecaser.train(sentences)
    caser.save(path)
    return caser


def _case(caser: Truecaser | None, case: str, tokens: list[str]) -> list[str]:
    if caser is not None:
        return caser.apply(tokens)
    return [t.lower() for t in tokens] if case == "lower" else tokens


def _tell_dropped(dropped: dict[str, int], total: int) -> None:
    for reason, count in dropped.items():
        if count:
            log.warning("%d of %d training pairs left out: %s", count, total, reason)
