"""The first stage of prepare: from raw text files to tokens, cases, vocabularies, factors and documents."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from xlate.align.copies import copy_groups
from xlate.arrays.scratch import Scratch, joined_rows
from xlate.arrays.stored import save_arrays
from xlate.cluster import ClusterConfig
from xlate.errors import InputError, refuse_if
from xlate.progress import track
from xlate.settings import Json
from xlate.text.classes import POS, Tagger
from xlate.text.documents import Documents, joined_documents, read_documents
from xlate.text.factors import FactoredLines, joined_lines, read_factored
from xlate.text.folders import write_json
from xlate.text.lines import check_length, join_files, write_lines
from xlate.text.tokens import Preprocessor, Truecaser, untokenized_lines
from xlate.text.vocabulary import RESERVED, EncodedText, Vocabulary, check_reserved
from xlate.text.word_parts import WordSplitter, affixes_of
from xlate.work.corpus_files import (
    SIDES,
    CorpusFiles,
    check_settings,
    corpus_identity,
    keep_tagger,
    tagger_record,
    word_splits,
)
from xlate.work.corpus_parts import (
    CASING,
    LINES,
    PARTS,
    Part,
    PartSide,
    case_part,
    lines_of,
    parts_of,
    store_texts,
    tokenise_part,
)
from xlate.work.directory import (
    PARTS_OF_WORDS,
    PREPROCESSING,
    TRUECASE,
    VOCABULARIES,
    WorkDirectory,
    save_copies,
    save_documents,
    save_factor,
    save_text,
)
from xlate.work.stages import BuildPart, Stage, identity_of, make_parts, read_stage, run_stage


@dataclass(frozen=True)
class AnnotatedText:
    """A source, its translations (one for the training text, any number for others) and perhaps its documents."""

    source: FactoredLines
    targets: list[FactoredLines]
    documents: Documents | None

    def rows(self, rows: Sequence[int], *lines: list[str]) -> AnnotatedText:
        """The factors and documents of some sentences, whose lines are given for each text or left out."""
        documents = None if self.documents is None else self.documents.rows(rows)
        texts = [text.rows(rows) for text in (self.source, *self.targets)]
        if lines:
            texts = [replace(text, lines=given) for text, given in zip(texts, lines, strict=True)]
        return AnnotatedText(texts[0], texts[1:], documents)


def with_tags(text: AnnotatedText, tagger: Tagger, sentences: Iterable[Sequence[str]]) -> AnnotatedText:
    """A text with the tags of its source; `sentences` are the source's words as written."""
    tags = [tagger.tags(words) for words in track(sentences, "tagging")]
    return replace(text, source=replace(text.source, factors={POS: tags}))


def _read_side(split: str, side: str, number: int, files: CorpusFiles) -> FactoredLines:
    """One text of a split with its factors; raises what `read_factored` raises."""
    beside = files.factor_paths(split, side, number)
    text = read_factored(files.held[split, side][number], files.joined_factors(side), beside)
    return replace(text, lines=_plain(text.lines, split, side, files))


def _plain(lines: list[str], split: str, side: str, files: CorpusFiles) -> list[str]:
    """The lines of a split as they are before they are tokenised."""
    return untokenized_lines(lines, files.languages[side]) if split in files.data.tokenized else lines


def _documents_of(split: str, lengths: list[int], files: CorpusFiles) -> Documents | None:
    """The documents of a split whose files have these numbers of lines; raises what `read_documents` raises."""
    if split not in files.documents:
        return None
    paths = zip(files.documents[split], lengths, strict=True)
    return joined_documents([read_documents(path, length, files.data.document_pattern) for path, length in paths])


log = logging.getLogger(__name__)


def make_corpus(
    work: Path, files: CorpusFiles, cluster: ClusterConfig | None = None, base: WorkDirectory | None = None
) -> Stage:
    """Reads, checks, tokenises and cases every file of a corpus, unless the stage is there and nothing changed.

    Tasks of a cluster, or else forked processes, do this part by part. In memory are the parts of a few processes, all
    different words, some bytes per sentence pair, and all of the factors, tags and documents if there are any.

    Args:
        base: another work directory; the training text is that of this one and then the files.

    Raises:
        InputError: sides of unequal length, files that cannot be read, reserved words, nothing left to train on; `base`
            was prepared in another way.
    """
    check_settings(files)
    if base is not None:
        here = _preprocessing(files)
        refuse_if(
            here != base.preprocessing or here.keys() > PREPROCESSING.keys() or files.documents or files.references,
            "texts that cannot be mixed",
            f"{here}{', documents' * bool(files.documents)}, and {base.path} with {base.preprocessing}",
            "one way to tokenise and case, without split or dropped words, factors, a tagger, documents or references",
        )
    read = {**corpus_identity(files), **({"mix": base.identities("corpus", "align")} if base else {})}
    corpus = _Corpus(work, files, read, cluster or ClusterConfig(), base)
    made = run_stage(work, "corpus", read, corpus.build)
    shutil.rmtree(work / PARTS, ignore_errors=True)
    return made


@dataclass(frozen=True)
class _Corpus:
    """A corpus while its stage is made; `read` is what it is made from."""

    work: Path
    files: CorpusFiles
    read: Json
    cluster: ClusterConfig
    base: WorkDirectory | None

    def build(self, folder: Path) -> Json:
        """Writes it into the folder of the stage; returns its figures."""
        files = self.files
        tagger = keep_tagger(files, folder)
        lines = run_stage(self.work, LINES, self.read, partial(store_texts, files)).figures
        total = sum(lines["train"])
        kept = total - min(files.data.dev_pairs or 0, total)
        # The factors and documents of the training text, without its lines.
        sides = []
        for side in SIDES:
            numbers = range(len(lines["train"]) if files.factor_names(side).names else 0)
            factors = joined_lines([_read_side("train", side, number, files) for number in numbers]).factors
            sides.append(FactoredLines([], factors))
        text = AnnotatedText(sides[0], sides[1:], _documents_of("train", lines["train"], files))
        used = len(range(kept)[: files.data.max_sentences])
        figures = self._write_train(folder, text, tagger, {"train": used, "lm": lines["lm"]}, lines["size"])
        dev = None
        if kept < total:
            rows = range(kept, total)
            cut = (lines_of(self.work, f"train.{side}", rows, lines["size"]) for side in SIDES)
            source, target = (_plain(text, "train", side, files) for side, text in zip(SIDES, cut, strict=True))
            dev = text.rows(rows, source, target)
        preprocessor = Preprocessor(files.languages["source"], tokenize=files.data.tokenize)
        for split, part in _splits(files, dev).items():
            if tagger is not None:
                part = with_tags(part, tagger, [*map(preprocessor.tokens, part.source.lines)])
            # A source as it will be translated, with the factors it came with; references without factors.
            write_lines(folder / f"{split}.source.gz", part.source.factored(files.factor_names("source")))
            for number, reference in enumerate(part.targets):
                write_lines(folder / f"{split}.reference.{number}.gz", reference.lines)
            _save_annotations(folder, split, part)
            figures[split] = len(part.source)
        write_json(folder / "preprocessing.json", _preprocessing(files))
        save_arrays(folder, VOCABULARIES, {}, files=[f"vocabulary.{side}" for side in (*SIDES, *files.references)])
        return figures

    def _write_train(
        self, folder: Path, text: AnnotatedText, tagger: Tagger | None, lengths: Mapping[str, int], size: int
    ) -> Json:
        """Writes the training text and further text, given the lines of `train` and `lm` and those of a part."""
        files, base, lines = self.files, self.base, lengths["train"]
        parts_of_text = partial(parts_of, self.work, files, identity_of(self.read), size=size)
        new, more = (parts_of_text(text=name, lines=lengths[name]) for name in ("train", "lm"))
        before = [] if base is None else parts_of_text(text="base", lines=len(base.copies), base=base.path)
        parts = [*before, *new]
        self._make(tokenise_part, "tokens", [*parts, *more])
        kept = self._check_kept(new, lines)
        learned = [TRUECASE + side for side in SIDES if files.data.case == "true"]
        learned += [PARTS_OF_WORDS] * bool(word_splits(files.data))
        if learned:
            run_stage(self.work, CASING, self.read, partial(self._learn_casing, parts))
            for name in learned:
                join_files(folder / name, [self.work / CASING / name])
        self._make(case_part, "cased", [*parts, *more])
        figures: Json = {"pairs": kept + (0 if base is None else len(base.copies)), "dropped": lines - kept}
        for side in (*SIDES, *files.references):
            figures |= self._write_side(folder, side, parts)
        if files.lm_text:
            for part in more:
                self._check_words(part, "target", part.side("cased", "target"))
            join_files(folder / "lm.target.gz", (part.file("cased", "target.lines") for part in more))
        digests = ([part.side("tokens", side).digest_S for side in SIDES] for part in parts)
        with Scratch(0, folder) as scratch:
            group_S = copy_groups(*scratch.stored(map(tuple, digests)))
        save_copies(folder / "copies", group_S)
        # The pairs that are copies of earlier ones.
        figures["copies"] = len(group_S) - int((group_S == np.arange(len(group_S))).sum())
        if text.documents is not None or any(side.factors for side in (text.source, *text.targets)):
            rows = [part.lines.start + part.side("tokens", "source").line_S for part in new]
            text = text.rows(np.concatenate(rows).tolist())
        if tagger is not None:
            tokens = (part.side("tokens", "source").tokens for part in new)
            text = with_tags(text, tagger, chain.from_iterable(tokens))
        _save_annotations(folder, "train", text)
        return figures

    def _make(self, build: BuildPart, step: str, parts: Sequence[Part]) -> None:
        made_from = {part.name(step): part.made_from for part in parts}
        make_parts(self.work, self.cluster, build, made_from, f"corpus: {step}")

    def _check_kept(self, parts: Sequence[Part], lines: int) -> int:
        """The number of pairs that can be trained on; warns about the others."""
        dropped: Counter[str] = Counter()
        for part in parts:
            dropped.update(read_stage(self.work, part.name("tokens")).figures["dropped"])
        for reason, count in dropped.items():
            if count:
                log.warning("%d of %d training pairs left out: %s", count, lines, reason)
        kept = lines - dropped.total()
        if not kept:
            raise InputError(
                "an empty corpus",
                f"{lines} pairs, none usable",
                f"pairs with words on both sides, at most {self.files.data.max_words} words per side",
                file=self.files.held["train", "source"][0],
            )
        return kept

    def _learn_casing(self, parts: Sequence[Part], folder: Path) -> Json:
        """Learns the casing of words, and the parts of words, as far as the settings ask for it."""
        case = self.files.data.case
        for side in SIDES if case == "true" else ():
            counts: Counter[str] = Counter()
            for part in parts:
                held = part.side("tokens", side)
                counts.update({word: n for word, n in zip(held.tokens.words, held.count_V.tolist(), strict=True) if n})
            Truecaser.train(counts).save(folder / f"{TRUECASE}{side}")
        if split := word_splits(self.files.data):
            counts = Counter()
            for part in parts:
                tokens = part.side("tokens", "source").tokens
                for word, n in zip(tokens.words, np.bincount(tokens.text.ids_T).tolist(), strict=True):
                    counts[word.lower() if case == "lower" else word] += n
            affixes = affixes_of(counts) if "affixes" in split else {}
            WordSplitter(counts, affixes=affixes).save(folder / PARTS_OF_WORDS)
        return {}

    def _write_side(self, folder: Path, side: str, parts: Sequence[Part]) -> dict[str, int]:
        """Writes a side of the training text and its vocabulary; returns the figures of the side."""
        counts: Counter[str] = Counter()
        for part in track(parts, f"counting {side} words"):
            held = part.side("cased", side)
            if part.made_from["text"] != "base":
                self._check_words(part, side, held)
            counts.update(dict(zip(held.tokens.words, held.count_V.tolist(), strict=True)))
        vocabulary = Vocabulary.counted(counts)
        vocabulary.save(folder / f"vocabulary.{side}")
        join_files(folder / f"train.{side}.gz", (part.file("cased", f"{side}.lines") for part in parts))
        texts = (part.side("cased", side).tokens for part in parts)
        columns = ((vocabulary.ids(held.words)[held.text.ids_T], held.text.offsets_S1) for held in texts)
        with Scratch(0, folder) as scratch:
            text = EncodedText(*scratch.stored(joined_rows(columns)))
            save_text(folder / f"train.{side}", text)
            return {f"{side}_words": len(text.ids_T), f"{side}_types": len(vocabulary)}

    def _check_words(self, part: Part, side: str, held: PartSide) -> None:
        """Checks that a part has no reserved words."""
        if RESERVED.keys().isdisjoint(held.tokens.words):
            return
        train = part.made_from["text"] == "train"
        lines = part.lines.start + part.side("tokens", side).line_S
        check_reserved(held.tokens, self.files.held["train", side] if train else self.files.lm_text, lines.tolist())


def _splits(files: CorpusFiles, dev: AnnotatedText | None) -> dict[str, AnnotatedText]:
    """The dev and test sets that exist; `dev` is one cut off the training text."""
    splits: dict[str, AnnotatedText] = {}
    for split in ("dev", "test"):
        if files.held[split, "source"]:
            source, references = _read_side(split, "source", 0, files), []
            for number, path in enumerate(files.held[split, "target"]):
                references.append(_read_side(split, "target", number, files))
                check_length(path, len(references[-1]), len(source))
            splits[split] = AnnotatedText(source, references, _documents_of(split, [len(source)], files))
    if dev is not None:
        splits["dev"] = dev
    if "dev" in splits and not splits["dev"].source.lines:
        raise InputError(
            "an empty dev set",
            "no line",
            "sentences with their translations",
            "data.dev_pairs=1000 takes the last 1000 training pairs",
            file=next(iter(files.held["dev", "source"]), None),
        )
    return splits


def _preprocessing(files: CorpusFiles) -> Json:
    """The settings for reading lines of either side."""
    data = files.data
    names = {side: list(files.factor_names(side).names) for side in SIDES}
    # Included only if given.
    later = {
        "factors": {**names, "separator": data.factor_separator} if any(names.values()) else None,
        "tagger": tagger_record(files),
        "split": word_splits(data),
        "drop_copied": data.drop_copied,
    }
    return {
        **{f"{side}_language": language for side, language in files.languages.items()},
        "tokenize": data.tokenize,
        "case": data.case,
        **{name: value for name, value in later.items() if value},
    }


def _save_annotations(folder: Path, split: str, text: AnnotatedText) -> None:
    """Writes the factors and documents of a split; call it for `train` first."""
    for side, texts in (("source", [text.source]), ("target", text.targets)):
        for number, lines in enumerate(texts):
            for name, values in lines.factors.items():
                save_factor(folder / "factors" / f"{side}.{name}", split, values, number)
    if text.documents is not None:
        save_documents(folder / "documents" / split, text.documents)
