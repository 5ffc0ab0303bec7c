"""The settings of each decoder: the search space and the effort. They are also the keys of `decoder=…`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xlate.settings import (
    ANY,
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    PHRASE_LENGTH,
    PROBABILITY,
    WINDOW,
    Range,
    Settings,
    asked,
    key,
)
from xlate.text.tokens import MAX_WORDS

# The bottom-up algorithm of the hierarchical model and of whole grammars.
CKY = "cky"
PIECES = "sentences of more words are translated in pieces, cut at punctuation if possible"
STACK = "the most hypotheses per number of covered source words"
ORDER = "which options are kept: the most frequent (count) or the cheapest (score)"
END = "the end of the sentence has its language model cost"


@dataclass(frozen=True)
class DecoderSettings(Settings):
    """No decoder: lists are ranked as they are given.

    Attributes:
        nbest: the maximum number of derivations returned.
        distinct: whether the derivations must differ in their target words.
    """

    nbest: int = asked(1, COUNT)
    distinct: bool = asked(True)


@dataclass(frozen=True)
class SearchSettings(DecoderSettings):
    """Settings of every search."""

    threshold: float = key(
        "hypotheses below this share of the best one's score are dropped; 0 keeps all", 1.0e-5, BELOW_ONE
    )
    options: int = key("the most translations per source span", 20, COUNT)
    future_cost: bool = key("pruning considers the estimated cost of the words left to translate", True)
    max_words: int = key(PIECES, MAX_WORDS, COUNT)

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)


@dataclass(frozen=True)
class PhrasalSearch(SearchSettings):
    """Settings of the phrase decoders."""

    max_phrase: int = key("the longest source phrase, in words", 7, COUNT)


@dataclass(frozen=True)
class BlockSearch(PhrasalSearch):
    """Search of the orientation model.

    Tillmann & Zhang 2007, sections 3.3 and 5.1: `mon` translates monotonely; `swap` may exchange two neighbouring
    source phrases, at no orientation cost; `swap_or` searches the same space with the orientation model. The linked
    weights order options and weigh `</s>`. With `partition=off` a derivation scores the sum of w·f, as in the paper's
    own runs; `local` subtracts from each step the log of the sum of exp(w·f) over the source span's options Γ(b), with
    the same predecessor, orientation and history.
    """

    mode: str = key(
        "mon: monotone; swap: neighbouring phrases may swap; swap_or: and orientation costs",
        "swap_or",
        ("mon", "swap", "swap_or"),
    )
    beam: int = key(STACK, 100, COUNT)
    min_left_count: int = key("blocks seen to the left fewer times than this are never placed there", 3, Range(0))
    partition: str = key(
        "local: step scores are normalised over the options of a span; off: they are not", "off", ("off", "local")
    )
    end_of_sentence: bool = key(END, True)
    option_order: str = key(ORDER, "count", ("count", "score"))
    unknown_unigram: float = key("unigram cost of a word that is copied because nothing translates it", 20.0, ANY)
    unknown_lexical: float = key("lexical cost of such a word", 20.0, ANY)


@dataclass(frozen=True)
class DistortionSearch(PhrasalSearch):
    """Search of the phrase-distortion model (Tillmann & Zhang 2007, section 5.3).

    No covered word is `window` or more positions after the first uncovered one.
    """

    options: int = key("the most translations per source span", 10, COUNT)
    beam: int = key(STACK, 100, COUNT)
    coverage_beam: int = key("the most hypotheses per set of covered source words", 50, COUNT)
    max_skips: int = key("the most source intervals left open at a time", 2, Range(0))
    window: int = key("source words, from the first open one on, that may be translated before it", 6, WINDOW)
    end_of_sentence: bool = key(END, True)
    option_order: str = key(ORDER, "score", ("count", "score"))
    unknown_direct: float = key("direct cost of a word that is copied because nothing translates it", 20.0, ANY)
    unknown_model1: float = key("Model 1 cost of such a word", 20.0, ANY)


BlocksSearch = BlockSearch | DistortionSearch


@dataclass(frozen=True)
class PhraseSearch(PhrasalSearch):
    """Search of the phrase model, with Moses's settings.

    Options are the best ones by weighted score without a history. A jump is `|start - end of the previous phrase|`; a
    phrase that leaves a gap must end near enough to the first gap for the jump back, as in Moses. Cube pruning takes
    the moves to one number of covered words from the best downwards (Huang & Chiang 2007).
    """

    algorithm: str = key("stack: every move of a hypothesis is scored; cube: cube pruning", "cube", ("stack", "cube"))
    stack: int = key(STACK, 200, COUNT)
    pop_limit: int = key("cube pruning: moves taken per number of covered source words", 1000, COUNT)
    distortion_limit: int = key("the longest jump in words, -1 for any", 6, Range(-1))
    early_threshold: float = key(
        "stack: moves below this share of the beam are dropped before the LM scores them", 0.0, BELOW_ONE
    )
    distortion_future: bool = key("the cost estimate of the words left includes distortion", False)

    @property
    def beam(self) -> int:
        """The maximum number of hypotheses per number of covered source words."""
        return self.stack


@dataclass(frozen=True)
class RuleSearch(SearchSettings):
    """Search of the hierarchical model from left to right in the target (Watanabe et al. 2007, section 2.3).

    Options are the rules of one source side with the best weighted scores without a history.
    """

    options: int = key("the most rules per source side", 20, COUNT)
    algorithm: str = key(
        "stack: every move of a hypothesis is scored; cube: cube pruning; cky: bottom-up, readable and slow",
        "cube",
        ("stack", "cube", CKY),
    )
    stack: int = key(f"stack, cube: {STACK}", 200, COUNT)
    pop_limit: int = key("cube: moves taken per number of covered source words; cky: hypotheses per span", 500, COUNT)
    max_span: int = key(
        "the longest span that a rule translates, in words; longer ones are glued together", 10, PHRASE_LENGTH
    )

    @property
    def beam(self) -> int:
        """The maximum number of hypotheses per number of covered source words."""
        return self.stack


StackSearch = PhraseSearch | RuleSearch


@dataclass(frozen=True)
class GrammarSearch(DecoderSettings):
    """Search of a whole grammar of another system, bottom-up."""

    algorithm: str = key(
        "cky: rules of every form, readable and slow; no other search handles them", CKY, ("stack", "cube", CKY)
    )
    pop_limit: int = key("hypotheses per label and span", 100, COUNT)
    max_words: int = key(PIECES, MAX_WORDS, COUNT)


@dataclass(frozen=True)
class LcsSearch(SearchSettings):
    """Lattice construction and scoring: predicted blocks, permuted in a window (Kolachina et al. 2010, section 4.1)."""

    beam: int = key(STACK, 100, COUNT)
    window: int = key("source words, from the first open one on, that may be translated next", 3, WINDOW)
    least_probability: float = key(
        "blocks below this probability are left out, except the best one of a word", 0.17, PROBABILITY
    )
    deletions: bool = key("words may be left out", False)
    deletion_cost: float = key("the cost of leaving out a word", 5.0, NOT_NEGATIVE)


@dataclass(frozen=True)
class TransformerSearch(DecoderSettings):
    """Beam search piece by piece."""

    beam: int = key("hypotheses that are continued", 8, COUNT)
    max_words: int = key(PIECES, MAX_WORDS, COUNT)


AnySearch = BlocksSearch | StackSearch | GrammarSearch | LcsSearch | TransformerSearch


def log_share(share: float) -> float:
    """The natural log of a share or a probability, minus infinity for 0."""
    return math.log(share) if share > 0 else -math.inf


# By the name of the model.
DECODERS: dict[str, type[DecoderSettings]] = {
    "orientation": BlockSearch,
    "distortion": DistortionSearch,
    "phrase": PhraseSearch,
    "hierarchical": RuleSearch,
    "grammar": GrammarSearch,
    "context": DecoderSettings,
    "joint": DecoderSettings,
    "transformer": TransformerSearch,
    "lcs": LcsSearch,
    "rerank": DecoderSettings,
    "combination": DecoderSettings,
}
