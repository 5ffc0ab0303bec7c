"""The keys of each choice of `model=…` and `sparse=…`."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.phrases.settings import RuleSettings
from xlate.settings import (
    BELOW_ONE,
    COUNT,
    FOLDS,
    NO_OR_FOLDS,
    NOT_NEGATIVE,
    PHRASE_LENGTH,
    POSITIVE,
    PROBABILITY,
    REACH,
    SEED,
    Range,
    key,
)

# What a transformer may predict: values of `model.direction`.
FORWARD, REVERSE, BACKWARD = "forward", "reverse", "backward"
# What a classifier may predict: values of `model.predicts`.
TRANSLATION, DISTORTION = "translation", "distortion"
LAYER = Range(1, 10_000)
OF_FLOATS = (
    "float features to train; also available: forward, forward_lexical (-ln p and -ln lex of target given source) and "
    "block_count (for tuning and the global model: it is constant within an event, so local training leaves it at 0)"
)


@dataclass
class SparseConfig:
    """Sparse features of the phrase model, by templates over word values."""

    words: list[str] = key(
        "how words are represented: all, topN, classN (computed), or class files 'SOURCE,TARGET'", []
    )
    reordering: list[str] = key("templates combined with the orientation of a phrase", [])
    plain: list[str] = key("templates that ignore the orientation", [])
    class_seed: int = key("seed of the computed word classes", 1, SEED)


@dataclass
class RerankConfig:
    """Features of hypotheses' words, for lists of any system."""

    ngrams: int = key("target n-grams up to this order; 0 for none", 2, Range(0, 10))
    length: bool = key("the hypothesis length minus the source length", True)
    pairs: bool = key("target words with their likeliest source word, by IBM Model 1 of sources and references", True)
    least_probability: float = key("the least probability of such a pair", 0.05, PROBABILITY)
    classes: str | None = key("a file of word classes", None)
    class_ngrams: int = key("n-grams of those classes up to this order", 3, Range(0, 10))
    given_sparse: bool = key("use features that only some lines of the list have; their value is 0 elsewhere", True)
    min_lists: int = key("the least number of lists in which a sparse feature must vary", 3, COUNT)
    position: bool = key("1/rank in the list as it is read", False)
    mbr: str = key(
        "expected gain with the other hypotheses of the list as references: none, bleu or chrf",
        "none",
        ("none", "bleu", "chrf"),
    )
    mbr_scale: float = key(
        "mbr: probabilities are proportional to exp(scale · total); 0: all are equal", 0.0, NOT_NEGATIVE
    )
    neighbours: int = key(
        "mean chrF with the first hypotheses of N sentences on each side, in the same document; 0: off",
        0,
        Range(0, 100),
    )
    terms: bool = key("share of a hypothesis's repeated words that its document translates alike; needs pairs", False)
    metric: str = key("learn for bleu, chrf, ter, column (gain_column), or a mixture like bleu:1,chrf:1", "bleu")
    gain_column: str | None = key("metric=column: the list's feature that holds the gain; it gets no weight", None)


@dataclass
class StructureConfig:
    """Sparse features of the structure of derivations (Watanabe et al. 2007, section 3.2)."""

    families: list[str] = key(
        "word_pair, pair_bigram, insertion, target_bigram, parent_child",
        ["word_pair", "pair_bigram", "insertion", "target_bigram", "parent_child"],
    )
    words: list[str] = key(
        "how words are represented: all, topN, classN (computed), prefixN, suffixN, digits, or a factor of the text, "
        "such as pos (a word's most frequent value)",
        ["all", "class50"],
    )
    class_seed: int = key("seed of the computed word classes", 1, SEED)


@dataclass
class ClassifierConfig:
    """A classifier in context (model=context)."""

    run: str = key("the run of the classifier; for model=phrase it may predict distortion")
    distortion: str | None = key("the run of a classifier with predicts=distortion, for another feature", None)


@dataclass
class ContextUseConfig(ClassifierConfig):
    """How predictions of a classifier in context (model=context) count in the phrase model."""

    only: bool = key("drop phrases without a prediction", False)
    threshold: float = key(
        "drop predicted phrases below this probability, except the best for a single word", 0.0, PROBABILITY
    )
    best: int = key("keep this many predicted phrases per source phrase, the best; 0: all", 0, Range(0))
    share: float = key("weight of a prediction against p(e|f) of the table, from 0 to 1", 1.0, PROBABILITY)


class _ModelKeys:
    """Keys that only some choices have, with the values that mean their absence."""

    sparse: SparseConfig | None = None
    rerank: RerankConfig | None = None
    structure: StructureConfig | None = None
    context: ClassifierConfig | None = None
    joint: str | None = None


@dataclass
class ModelConfig(_ModelKeys):
    """What every model has."""

    name: str = key("its name in tables")
    kind: str = key(
        "orientation, distortion, phrase, hierarchical, grammar, context, joint, transformer, lcs, rerank or "
        "combination; the other keys depend on it"
    )


@dataclass
class EventModelConfig(ModelConfig):
    """What the models of block sequences have, which learn from the training text."""

    binary: list[str] = key("families of binary features: BB, TP, WB", [])
    threshold: int = key("the least count of a binary feature in the training text", 3, Range(0))
    folds: int = key(
        "number of folds; events use blocks, counts and language model of the other folds; 0: of all folds (the paper)",
        10,
        NO_OR_FOLDS,
    )
    alternatives: int = key("the most alternatives per event", 9, COUNT)
    listed_only: bool = key("only alternatives seen as successors in the training text", True)
    by_span: bool = key("only alternatives with the source span of the true successor", False)
    by_target: bool = key("also alternatives with the same target words (source+target)", False)
    floats: list[str] = key(OF_FLOATS)


@dataclass
class BlockModelConfig(EventModelConfig):
    """Orientation model, floats (a)-(e) and binary features (f) (Tillmann & Zhang 2007, Table III)."""

    name: str = "block"
    kind: str = "orientation"
    floats: list[str] = key(OF_FLOATS, ["unigram", "orientation", "lm_first", "lm_rest", "lexical"])
    binary: list[str] = key("families of binary features: BB, TP, WB", ["BB"])
    orientation_smoothing: float = key("added to every count of orientations", 0.5, POSITIVE)
    unigram_per_word: bool = key("divide unigram costs by source words in training too, as in decoding", False)


@dataclass
class DistortionModelConfig(EventModelConfig):
    """Phrase-distortion model, floats (a)-(g) (Tillmann & Zhang 2007, Table V)."""

    name: str = "distortion"
    kind: str = "distortion"
    floats: list[str] = key(
        OF_FLOATS,
        ["direct", "model1", "lm_first", "lm_rest", "inbound", "outbound", "length"],
    )
    by_target: bool = key("also alternatives with the same target words (source+target)", True)
    jump_reach: int = key("the longest jump counted separately, in words", 7, REACH)
    jump_smoothing: float = key("how strongly a word's jumps are smoothed with those of all words", 5.0, POSITIVE)
    model1_iterations: int = key("iterations of IBM Model 1", 5, COUNT)
    direct_discount: float = key(
        "subtracted from every N(b) in -ln N(b)/N(T); at 0 a block is free if it and its target phrase were seen once",
        0.0,
        BELOW_ONE,
    )


@dataclass
class PhraseModelConfig(ModelConfig):
    """Phrase-based log-linear model with Moses's features."""

    name: str = "phrase"
    kind: str = "phrase"
    reordering: str = key(
        "lexicalised reordering: wbe, phrase, hier, hier5 (five orientations) or none",
        "hier",
        ("none", "wbe", "phrase", "hier", "hier5"),
    )
    histories: list[str] = key("features with history, by name; your own work once their modules are imported", [])
    joint: str | None = key("the run of a joint model (model=joint), whose scores of words are one more float", None)
    sparse: SparseConfig | None = key("sparse features, chosen by sparse=…", None)
    context: ContextUseConfig | None = key("predictions in context, chosen by context=…", None)


@dataclass
class ContextModelConfig(ModelConfig):
    """Classifiers that say how a source phrase is translated in its sentence (Kolachina et al. 2010, section 3.1)."""

    name: str = "context"
    kind: str = "context"
    predicts: str = key(
        "translation; or distortion: how far the translation moves from its place",
        TRANSLATION,
        (TRANSLATION, DISTORTION),
    )
    unit: str = key(
        "phrase: pairs of the phrase table; word: only those with one source word and linked ends",
        "phrase",
        ("phrase", "word"),
    )
    longest: int = key("the most words in a source phrase", 3, PHRASE_LENGTH)
    alternatives: int = key("the most translations per source phrase; the most frequent are kept", 30, Range(2))
    folds: int = key(
        "number of folds; a sentence's candidate translations and their counts come from the other folds",
        10,
        NO_OR_FOLDS,
    )
    words: list[str] = key(
        "how words are represented: all, topN, classN (computed), prefixN, suffixN, digits", ["all", "class50"]
    )
    class_seed: int = key("seed of the computed word classes", 1, SEED)
    factors: list[str] = key(
        "further factors of tokens: pos, by data.tagger, or those that data.source_factors names", []
    )
    window: int = key("number of words before and after the phrase", 3, Range(0, 1000))
    marks: str = key(
        "distance: these words with their distance; bag: all words on one side alike", "distance", ("distance", "bag")
    )
    target: list[str] = key(
        "how translations are represented: pair, phrase, words; with predicts=distortion, [] ignores them",
        ["pair", "words"],
        ("pair", "phrase", "words"),
    )
    reach: int = key("predicts=distortion: the longest distance predicted separately, in words", 6, REACH)
    bits: int = key("the number of weights is 2 to this power", 24, Range(1, 30))
    left_out: int | None = key(
        "do not learn from this fold of the text, counted from 0; loss=xbleu needs such runs", None, Range(0)
    )
    left_out_of: int = key("number of folds for left_out", 10, FOLDS)


@dataclass
class JointModelConfig(ModelConfig):
    """A network that predicts a target word from those before it and from source words (Devlin et al. 2014)."""

    name: str = "joint"
    kind: str = "joint"
    order: int = key("target words considered, with the predicted one", 4, Range(2, 5))
    window: int = key("source words considered on each side of the affiliated one", 5, Range(0, 100))
    dimension: int = key("numbers that represent a word", 128, LAYER)
    hidden: int = key("units of the hidden layer", 256, LAYER)
    least_count: int = key("words that are less frequent in the training text are one unknown word", 2, COUNT)


@dataclass
class TransformerModelConfig(ModelConfig):
    """A network that translates piece by piece, and scores the translations of other systems (Vaswani et al. 2017)."""

    name: str = "transformer"
    kind: str = "transformer"
    direction: str = key(
        "forward; reverse: from the last word to the first; backward: predicts the source, only to score translations",
        FORWARD,
        (FORWARD, REVERSE, BACKWARD),
    )
    pieces: int = key("the most pieces of words, which both languages share", 4000, COUNT)
    dimension: int = key("numbers that represent a piece", 256, LAYER)
    layers: int = key("layers of the encoder, and of the decoder", 3, Range(1, 100))
    dropout: float = key("the share of numbers left out in training", 0.1, BELOW_ONE)


@dataclass
class LcsModelConfig(ModelConfig):
    """Blocks predicted for single words, in the order that the language model likes (Kolachina et al. 2010)."""

    name: str = "lcs"
    kind: str = "lcs"
    context: ClassifierConfig = key("the classifier", ClassifierConfig())


@dataclass
class HierarchicalModelConfig(ModelConfig):
    """Hierarchical rules in target normal form, translated from left to right (Watanabe et al. 2007)."""

    name: str = "hierarchical"
    kind: str = "hierarchical"
    rules: RuleSettings = key("extracted rules", RuleSettings())
    structure: StructureConfig | None = key("sparse features, chosen by structure=…", None)


@dataclass
class GrammarModelConfig(ModelConfig):
    """A whole grammar of another system, with the weights and the language model that it came with."""

    name: str = "grammar"
    kind: str = "grammar"


@dataclass
class RerankModelConfig(ModelConfig):
    """Ranks n-best lists of any system anew."""

    name: str = "rerank"
    kind: str = "rerank"
    rerank: RerankConfig = key("features of hypotheses", RerankConfig())


@dataclass
class CombinationModelConfig(RerankModelConfig):
    """Several systems, of whose translations a ranker chooses."""

    name: str = "combination"
    kind: str = "combination"
    systems: list[str] = key(
        "NAME=RUN each, or NAME=KEYS: the keys of a training to do first, model=… and others, separated by blanks; in "
        "them @NAME is the run of an earlier entry",
        [],
    )
    size: int = key("the most translations of a sentence by each system", 100, COUNT)


MODELS: dict[str, type[ModelConfig]] = {
    model.kind: model
    for model in (
        BlockModelConfig,
        DistortionModelConfig,
        PhraseModelConfig,
        ContextModelConfig,
        JointModelConfig,
        TransformerModelConfig,
        LcsModelConfig,
        HierarchicalModelConfig,
        GrammarModelConfig,
        RerankModelConfig,
        CombinationModelConfig,
    )
}
