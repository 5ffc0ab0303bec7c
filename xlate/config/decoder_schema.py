"""The keys of each choice of `decoder=…`."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.settings import ANY, BELOW_ONE, COUNT, NOT_NEGATIVE, PHRASE_LENGTH, PROBABILITY, WINDOW, Range, key
from xlate.text.tokens import MAX_WORDS


class _DecoderKeys:
    """What code may ask a decoder for; each has those of its own fields."""

    mode: str
    beam: int
    threshold: float
    options: int
    option_order: str
    min_left_count: int
    partition: str
    end_of_sentence: bool
    future_cost: bool
    max_words: int
    unknown_unigram: float
    unknown_lexical: float
    unknown_direct: float
    unknown_model1: float
    max_skips: int
    window: int
    coverage_beam: int
    algorithm: str
    stack: int
    pop_limit: int
    max_phrase: int
    distortion_limit: int
    early_threshold: float
    distortion_future: bool
    max_span: int
    least_probability: float
    deletions: bool
    deletion_cost: float


@dataclass
class DecoderConfig(_DecoderKeys):
    """No decoder: lists are ranked as they are given."""


@dataclass
class SearchConfig(DecoderConfig):
    """What every decoder has."""

    threshold: float = key(
        "hypotheses below this share of the best one's score are dropped; 0 keeps all", 1.0e-5, BELOW_ONE
    )
    options: int = key("the most translations of one source span", 20, COUNT)
    future_cost: bool = key("pruning looks at the estimated cost of what is left to translate", True)
    max_words: int = key(
        "sentences of more words are translated in pieces, cut at punctuation if possible", MAX_WORDS, COUNT
    )


@dataclass
class PhrasalSearchConfig(SearchConfig):
    """What the decoders of phrases have."""

    max_phrase: int = key("the longest source phrase, in words", 7, COUNT)


@dataclass
class BlockDecoderConfig(PhrasalSearchConfig):
    """Search of the orientation model."""

    mode: str = key(
        "mon: monotone; swap: neighbouring phrases may swap; swap_or: and orientation costs",
        "swap_or",
        ("mon", "swap", "swap_or"),
    )
    beam: int = key("the most hypotheses of one number of covered source words", 100, COUNT)
    min_left_count: int = key("blocks seen to the left fewer times than this are never put there", 3, Range(0))
    partition: str = key(
        "local: scores of a step are normalised over the options of its span; off: not", "off", ("off", "local")
    )
    end_of_sentence: bool = key("the end of the sentence costs what the language model says", True)
    option_order: str = key(
        "which options are kept: the most frequent (count) or the cheapest (score)", "count", ("count", "score")
    )
    unknown_unigram: float = key("unigram cost of a word that is copied because nothing translates it", 20.0, ANY)
    unknown_lexical: float = key("lexical cost of such a word", 20.0, ANY)


@dataclass
class DistortionDecoderConfig(PhrasalSearchConfig):
    """Search of the phrase-distortion model (Tillmann & Zhang 2007, section 5.3)."""

    options: int = key("the most translations of one source span", 10, COUNT)
    beam: int = key("the most hypotheses of one number of covered source words", 100, COUNT)
    coverage_beam: int = key("the most hypotheses of one set of covered source words", 50, COUNT)
    max_skips: int = key("the most source intervals left open at a time", 2, Range(0))
    window: int = key("source words, from the first open one on, that may be translated before it", 6, WINDOW)
    end_of_sentence: bool = key("the end of the sentence costs what the language model says", True)
    option_order: str = key(
        "which options are kept: the most frequent (count) or the cheapest (score)", "score", ("count", "score")
    )
    unknown_direct: float = key("direct cost of a word that is copied because nothing translates it", 20.0, ANY)
    unknown_model1: float = key("Model 1 cost of such a word", 20.0, ANY)


@dataclass
class PhraseDecoderConfig(PhrasalSearchConfig):
    """Search of the phrase model, with Moses's settings."""

    algorithm: str = key("stack: every move of a hypothesis is scored; cube: cube pruning", "cube", ("stack", "cube"))
    stack: int = key("the most hypotheses of one number of covered source words", 200, COUNT)
    pop_limit: int = key("cube pruning: moves taken for one number of covered source words", 1000, COUNT)
    distortion_limit: int = key("the longest jump in words, -1 for any", 6, Range(-1))
    early_threshold: float = key(
        "stack: moves below this share of the beam are dropped before the LM is asked", 0.0, BELOW_ONE
    )
    distortion_future: bool = key("the estimate of what is left holds its distortion", False)


@dataclass
class RuleDecoderConfig(SearchConfig):
    """Search of the hierarchical model from left to right in the target (Watanabe et al. 2007, section 2.3)."""

    options: int = key("the most rules of one source side", 20, COUNT)
    algorithm: str = key(
        "stack: every move of a hypothesis is scored; cube: cube pruning; cky: bottom-up, readable and slow",
        "cube",
        ("stack", "cube", "cky"),
    )
    stack: int = key("stack, cube: the most hypotheses of one number of covered source words", 200, COUNT)
    pop_limit: int = key(
        "cube: moves taken for one number of covered source words; cky: hypotheses made over one span", 500, COUNT
    )
    max_span: int = key(
        "the longest span that a rule translates, in words; longer ones are glued together", 10, PHRASE_LENGTH
    )


@dataclass
class GrammarDecoderConfig(DecoderConfig):
    """Search of a whole grammar of another system, bottom-up."""

    algorithm: str = key(
        "cky: rules of every form, readable and slow; there is no other search of them", "cky", ("stack", "cube", "cky")
    )
    pop_limit: int = key("hypotheses made for each label over one span", 100, COUNT)
    max_words: int = key(
        "sentences of more words are translated in pieces, cut at punctuation if possible", MAX_WORDS, COUNT
    )


@dataclass
class LcsDecoderConfig(SearchConfig):
    """Lattice construction and scoring: predicted blocks, permuted in a window (Kolachina et al. 2010, section 4.1)."""

    beam: int = key("the most hypotheses of one number of covered source words", 100, COUNT)
    window: int = key("source words, from the first open one on, that may be translated next", 3, WINDOW)
    least_probability: float = key(
        "blocks below this probability are left out, but for the best of a word", 0.17, PROBABILITY
    )
    deletions: bool = key("words may be left out", False)
    deletion_cost: float = key("what a word that is left out costs", 5.0, NOT_NEGATIVE)


DECODERS: dict[str, type[DecoderConfig]] = {
    "orientation": BlockDecoderConfig,
    "distortion": DistortionDecoderConfig,
    "phrase": PhraseDecoderConfig,
    "hierarchical": RuleDecoderConfig,
    "grammar": GrammarDecoderConfig,
    "context": DecoderConfig,
    "lcs": LcsDecoderConfig,
    "rerank": DecoderConfig,
}
