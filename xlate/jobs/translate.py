"""xlate translate: translates with a run's weights, and writes its lattices as files for other programs.

The work directory determines how lines become tokens and tokens lines. An imported system knows tokens made by other
scripts: its run takes these tokens, separated by blanks, or raw text, with settings kept in the run.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path

from xlate.config.schema import USES, TrainConfig, TranslateConfig
from xlate.config.stored import config_of_run
from xlate.config.typed import with_settings
from xlate.errors import InputError, check_choice, refuse_if
from xlate.models.kind import is_grammar, open_system
from xlate.models.pack_format import check_sentences, is_pack, read_pack, unpacked
from xlate.models.run_files import located_runs
from xlate.models.system import AnyDerivation, AnySystem
from xlate.progress import track
from xlate.search.processes import each_arriving, each_sentence
from xlate.settings import Json
from xlate.text.batches import Batches
from xlate.text.factors import located
from xlate.text.folders import Fields, claim_folder, read_json, write_json
from xlate.text.terms import TERM, Glossary, read_terms, terms_in
from xlate.text.tokens import DASH, PreparedSide, Preprocessor, Truecaser, cut, split_tokens
from xlate.work.corpus_files import SIDES
from xlate.work.directory import TextSides

log = logging.getLogger(__name__)
SETTINGS = "text.json"


class TokenizedText(TextSides):
    """Lines that are already tokens separated by blanks on both sides."""

    _sides: Mapping[str, PreparedSide] = {}
    source_tokens = target_tokens = staticmethod(split_tokens)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:  # noqa: ARG002
        return " ".join(tokens)


# The file with the settings of how raw text is prepared.
KEPT: Fields = {
    **dict.fromkeys(("source_language", "target_language", "case"), str),
    **dict.fromkeys(("tokenize", "escape", "dashes"), bool),
}


@dataclass(frozen=True)
class PreparedText(TextSides):
    """Raw text on both sides of an imported system.

    Attributes:
        source_language, target_language: the languages whose rules are used for tokens; tokenize: false splits only at
            blanks.
        case: `lower`, `keep`, or `true` (with the files `truecase.source` and `truecase.target`).
        escape: whether `'` and the like are written `&apos;`. dashes: whether `-` within a word is a token, `@-@`.
        truecasers: those of the truecased sides.
    """

    source_language: str
    target_language: str
    tokenize: bool
    case: str
    escape: bool
    dashes: bool
    truecasers: Mapping[str, Truecaser] = field(default_factory=dict)

    def __str__(self) -> str:
        """A readable description of the text that is expected."""
        ways = {"lower": "lower-cased", "keep": "with its capitals", "true": "truecased"}
        tokens = f"raw {self.source_language} text, tokenised by Moses's rules" if self.tokenize else "tokens"
        marks = ["with &apos; and the like"] * self.escape + [f"with {DASH} in words"] * self.dashes
        return ", ".join([tokens, *marks, ways[self.case]])

    def save(self, run: Path) -> None:
        """Keeps it in the folder of a run."""
        for side, caser in self.truecasers.items():
            caser.save(run / f"truecase.{side}")
        write_json(run / SETTINGS, self._kept)

    @property
    def identity(self) -> Json:
        """The identity of these settings."""
        return self._kept | {"casers": {side: caser.words for side, caser in self.truecasers.items()}}

    @classmethod
    def load(cls, run: Path) -> PreparedText:
        """What `save` kept.

        Raises:
            InputError: it is damaged.
        """
        held = read_json(run / SETTINGS, "how text is prepared", "import the system again", KEPT)
        sides = SIDES if held["case"] == "true" else ()
        casers = {side: Truecaser.load(run / f"truecase.{side}") for side in sides}
        return cls(**{name: held[name] for name in KEPT}, truecasers=casers)

    @property
    def _kept(self) -> Json:
        return {name: getattr(self, name) for name in KEPT}

    @cached_property
    def _sides(self) -> dict[str, PreparedSide]:
        how = {"tokenize": self.tokenize, "escape": self.escape, "dashes": self.dashes}
        return {
            side: PreparedSide(Preprocessor(language, **how), self.case, self.truecasers.get(side))
            for side, language in zip(SIDES, (self.source_language, self.target_language), strict=True)
        }


def text_of(run: Path) -> TextSides:
    """The text settings of a run without a work directory: those of the imported system that it is or is based on.

    Raises:
        InputError: they are damaged.
    """
    while not (run / SETTINGS).exists():
        base = located_runs(run).base
        if base is None:
            return TokenizedText()
        run = Path(base)
    return PreparedText.load(run)


def text_of_base(config: TrainConfig) -> TextSides:
    """How the files given to a training are read: as its base run takes text, if that has no work directory."""
    if config.base is None or config.work:
        return TokenizedText()
    return text_of(config.base_run)


# Marks a folder of lattices that xlate wrote.
MARK = "xlate-lattices.json"


# With a larger share of unknown words, the run was probably not trained for such text.
MOST_UNKNOWN = 1 / 3
LIMITED = "sentences have more words than a rule spans"


@dataclass(frozen=True)
class Translation:
    """One translated line: the text, the tokens it was made from, and the derivations of a system, best first."""

    number: int
    source: list[str]
    text: str
    derivations: Sequence[AnyDerivation]
    explanation: str
    system: AnySystem


# A sentence and the translation to force, as words.
Pair = tuple[list[str], list[str]]


class _ArrivingTokens(Batches[list[str]]):
    """The tokens of lines as they come; each sentence also waits for its translation."""

    def __init__(self, translator: Translator, batches: Batches[str]) -> None:
        self.translator, self.batches, self.waiting = translator, batches, deque[list[str]]()

    def __iter__(self) -> Iterator[list[list[str]]]:
        numbers = count(self.translator.before)
        for batch in self.batches:
            tokens = [self.translator.tokens(line, next(numbers)) for line in batch]
            self.waiting.extend(tokens)
            yield tokens

    def ready(self) -> bool:
        return self.batches.ready()


class Translator:
    """A run's system, and how lines become its tokens; `mark_terms` gives it a glossary."""

    glossary: Glossary | None = None
    # The number of lines before the first one that it translates.
    before = 0

    def __init__(self, text: TextSides, system: AnySystem, *, detokenize: bool = True, trace: bool = False) -> None:
        self.text, self.system, self.detokenize, self.trace = text, system, detokenize, trace
        self.counts = Counter[str]()

    @classmethod
    def open(cls, config: TranslateConfig) -> Translator:
        """Loads what a configuration names.

        Raises:
            InputError: no finished run; its work directory is gone or was remade from other data; a packed run is
                damaged, or does not translate as it did where it was packed; a whole grammar cannot be used.
        """
        if is_grammar(Path(config.run)):
            # Of no use to other models.
            from xlate.models.grammar.kind import open_grammar

            made = cls(TokenizedText(), open_grammar(Path(config.run), config.decoder))
        else:
            run = unpacked(Path(config.run))
            packed = config_of_run(run)
            trained = replace(packed, decoder=with_settings(packed.decoder, config.decoder, "decoder"))
            made = cls.of_run(trained, run, config.work)
            if is_pack(run):
                # It is checked with the settings it was packed with, whatever the decoder's settings are now.
                plain = made if trained == packed else cls.of_run(packed, run)
                check_sentences(run, read_pack(run), plain.scored)
            made.system = made.system.changed(fast=config.fast)
        made.system = made.system.with_search(nbest=config.nbest, distinct=config.distinct)
        made.detokenize, made.trace = config.detokenize, config.trace
        made.mark_terms(config.glossary, config.terms)
        return made

    @classmethod
    def of_run(cls, trained: TrainConfig, run: Path, given: str | None = None, near: str | None = None) -> Translator:
        """The translator of a run's weights with the settings it was trained with; `given` is its work directory, if
        the user has named it, `near` one that may be it.

        Raises:
            InputError: as `open` does.
        """
        system, work = open_system(run, trained, given, near)
        return cls(work or text_of(run), system)

    def mark_terms(self, glossary: str | Path | Mapping[str, str] | None, use: str) -> None:
        """From now on uses the terms of a glossary: a file, or translations by source phrase; None changes nothing.

        Raises:
            InputError: a `use` other than `hard` or `soft`; a term that cannot be used, by its line.
        """
        if glossary is None:
            return
        check_choice("unknown use of terms", use, USES)
        assert self.glossary is None, "a translator has one glossary"
        given: Iterable[tuple[int, str, str]]
        if isinstance(glossary, Mapping):
            file, given = None, ((number, *term) for number, term in enumerate(glossary.items(), 1))
        else:
            file = Path(glossary)
            given = read_terms(file)
        sides = self.text.source_tokens, self.text.target_tokens
        self.glossary = Glossary.of(given, sides, self.system.longest_term, use, file)

    def translate(
        self, lines: Sequence[str], targets: Sequence[str] | None = None, processes: int = 1
    ) -> Iterator[Translation]:
        """Translates lines in order, in several processes; an empty line gives an empty line.

        With `targets`, forced decoding: each line is translated into its target, or into nothing if no derivation
        yields it.

        Raises:
            InputError: the numbers of targets and lines differ, or a process died.
        """
        if targets is None:
            return self.translate_arriving(Batches([lines]), processes, len(lines))
        pairs = self._pairs(lines, targets)
        found = each_sentence(_Forcing(self.system), _Forcing.force, pairs, processes)
        return self._of_forced(pairs, track(found, "forcing", total=len(pairs)))

    def translate_arriving(
        self, batches: Batches[str], processes: int = 1, total: int | None = None
    ) -> Iterator[Translation]:
        """Translates lines as they come, in order; translations are not kept, and little is read ahead. `total` is the
        number of lines, if known.

        Raises:
            InputError: a process died.
        """
        sources = _ArrivingTokens(self, batches)
        found = each_arriving(self.system, type(self.system).translate, sources, processes)
        for number, derivations in enumerate(track(found, "translating", total=total), self.before):
            source = sources.waiting.popleft()
            self._say_if_cut(number, source)
            yield self._counted(self._translation(number, source, derivations))

    def _pairs(self, lines: Sequence[str], targets: Sequence[str]) -> list[Pair]:
        """The tokens of lines and their targets.

        Raises:
            InputError: the numbers of targets and lines differ.
        """
        refuse_if(
            len(lines) != len(targets),
            "every line needs a target",
            f"{len(lines)} lines, {len(targets)} targets",
            "as many targets as lines",
        )
        tokens = [self.tokens(line, number) for number, line in enumerate(lines, self.before)]
        return list(zip(tokens, map(self.text.target_tokens, targets), strict=True))

    def _of_forced(self, pairs: Sequence[Pair], found: Iterable[AnyDerivation | None]) -> Iterator[Translation]:
        unreached, most = 0, self.system.search.max_words
        for number, ((source, _), derivation) in enumerate(zip(pairs, found, strict=True), self.before):
            if len(source) > most:
                seen = number + 1, len(source), most
                log.warning("line %d: %d words, more than decoder.max_words=%d: not forced", *seen)
            unreached += derivation is None
            if derivation is None:
                yield Translation(number, source, "", [], "", self.system)
            else:
                yield self._counted(self._translation(number, source, [derivation]))
        if unreached:
            log.warning("%d of %d targets cannot be reached", unreached, len(pairs))

    def translate_with_tables(
        self, lines: Sequence[str], folder: Path, targets: Sequence[str] | None = None
    ) -> Iterator[Translation]:
        """Translates every line with the phrase table of its number in a folder; `targets` as in `translate`.

        Raises:
            InputError: the system has no such tables or has sparse features, a table is missing, or the numbers of
                targets and lines differ.
        """
        of_number = self.system.with_tables(folder, len(lines))
        if targets is None:
            for number, line in enumerate(track(lines, "translating")):
                of_line = Translator(self.text, of_number(number), detokenize=self.detokenize, trace=self.trace)
                yield self._counted(of_line.translate_tokens(self.tokens(line, number), number))
            return
        pairs = self._pairs(lines, targets)
        forced = (_Forcing(of_number(number)).force(pair) for number, pair in enumerate(track(pairs, "forcing")))
        yield from self._of_forced(pairs, forced)

    def translate_line(self, line: str) -> Translation:
        """Translates one line."""
        return self.translate_tokens(self.tokens(line))

    def tokens(self, line: str, number: int = 0) -> list[str]:
        """The tokens of a source line, its terms marked; raises what `line_tokens` raises."""
        tokens = line_tokens(self.text, line, number)
        return tokens if self.glossary is None else self.glossary.marked(tokens)

    def translate_tokens(self, source: list[str], number: int = 0) -> Translation:
        """Translates the tokens of one line."""
        self._say_if_cut(number, source)
        return self._translation(number, source, self.system.translate(source))

    def scored(self, line: str) -> tuple[str, float]:
        """The translation of one line, and the score of its derivation."""
        translation = self.translate_line(line)
        return translation.text, translation.derivations[0].score

    def _say_if_cut(self, number: int, source: list[str]) -> None:
        search = self.system.search
        if len(source) > search.max_words:
            lists = "" if search.nbest == 1 else "; its n-best list has the best combinations of the pieces"
            seen = number + 1, len(source), search.max_words, len(cut(source, search.max_words)), lists
            log.warning("line %d: %d words, more than decoder.max_words=%d: translated in %d pieces%s", *seen)

    def _counted(self, translation: Translation) -> Translation:
        """Returns the translation; counts its words, those copied because nothing translates them, and the sentences
        longer than a rule may span.
        """
        if translation.derivations:
            limit, counts, source = self.system.span_limit, self.counts, translation.source
            counts["sentences"] += 1
            if limit is not None and len(source) > limit.words:
                counts[f"{LIMITED} ({limit.name}={limit.words})"] += 1
            counts["words"] += len(source)
            counts["unknown words"] += translation.derivations[0].copied
            if self.glossary is not None:
                counts["terms"] += sum(unit == TERM for _, _, unit in terms_in(source))
                counts["used terms"] += sum(step.unit <= TERM for step in translation.derivations[0].blocks)
        return translation

    def _translation(self, number: int, source: list[str], derivations: Sequence[AnyDerivation]) -> Translation:
        text = self.text.target_text(list(derivations[0].words), self.detokenize)
        explanation = self.system.explain(source, derivations[0]) if self.trace else ""
        return Translation(number, source, text, derivations, explanation, self.system)


def say_counts(counts: Counter[str]) -> None:
    """Logs how many sentences were longer than a rule may span, how many terms were used, and how many words were
    unknown; warns if these are more than a third.
    """
    for name, number in counts.items():
        if name.startswith(LIMITED):
            log.info("%d of %d %s: their parts are joined in order", number, counts["sentences"], name)
    if "terms" in counts:
        log.info("%d of %d terms translated by the glossary", counts["used terms"], counts["terms"])
    if not (words := counts["words"]):
        return
    share = counts["unknown words"] / words
    said = f"{counts['unknown words']} of {words} words unknown ({100 * share:.1f} %), not translated"
    if share <= MOST_UNKNOWN:
        log.info("%s", said)
        return
    question = "do the language, script, casing and tokens of this text match the training text?"
    log.warning("warning: %s: %s", said, question)


def line_tokens(text: TextSides, line: str, number: int) -> list[str]:
    """The tokens of a source line; `number`, counted from 0, is for the message.

    Raises:
        InputError: the line cannot be split; it is named.
    """
    try:
        return text.source_tokens(line)
    except InputError as error:
        raise located(error, "the text to translate", number + 1) from error


def with_lattices(results: Iterable[Translation], folder: Path, kind: str, system: AnySystem) -> Iterator[Translation]:
    """Passes translations on and writes the graph of each into a file for other programs, N.fst or N.slf counted from
    0; for OpenFst, at the end also the symbols of all lines, `words.txt`, which fstcompile needs.

    Lines without words and lines translated in pieces have no graph.

    Raises:
        InputError: a folder that is not ours.
    """
    from xlate.formats.lattice import spelled_out, write_fst, write_slf, write_symbols

    claim_folder(folder, "a set of lattices", MARK, "name another folder with lattice_out=…")
    most, symbols = system.search.max_words, set[str]()
    for result in results:
        number, count = result.number, len(result.source)
        if count > most:
            log.warning("line %d: %d words, more than decoder.max_words=%d: no lattice", number + 1, count, most)
        elif count:
            arcs, words = system.plain_lattice(result.source)
            lattice = spelled_out(arcs.graph, arcs.score_A, words)
            if kind == "slf":
                write_slf(folder / f"{number}.slf", lattice, str(number))
            else:
                write_fst(folder / f"{number}.fst", lattice)
                symbols.update(word for _, _, word, _ in lattice)
        yield result
    if kind == "fst":
        write_symbols(folder / "words.txt", symbols)


@dataclass(frozen=True)
class _Forcing:
    """A system that finds the best derivation of given translations."""

    system: AnySystem

    def prepare(self, pairs: Sequence[Pair]) -> None:
        """Does nothing: the free search would rank options that forced decoding does not consider."""

    def force(self, pair: Pair) -> AnyDerivation | None:
        """The best derivation; None if there is none or the sentence is too long to force."""
        return self.system.force(*pair) if len(pair[0]) <= self.system.search.max_words else None
