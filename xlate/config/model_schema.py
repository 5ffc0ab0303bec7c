"""The keys of each choice of `model=…` and `sparse=…`."""

from __future__ import annotations

from dataclasses import dataclass

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

# What a classifier may predict: values of `model.predicts`.
TRANSLATION, DISTORTION = "translation", "distortion"
OF_FLOATS = (
    "float features that are trained; more by choice: forward, forward_lexical (-ln p and -ln lex of target given "
    "source), block_count (for tuning and the global model: events cannot tell, so local training leaves it at 0)"
)


@dataclass
class SparseConfig:
    """Sparse features of the phrase model, by templates over word values."""

    words: list[str] = key("values of words: all, topN, classN (computed), or files of classes 'SOURCE,TARGET'", [])
    reordering: list[str] = key("templates that are crossed with the orientation of a phrase", [])
    plain: list[str] = key("templates of phrases by themselves", [])
    class_seed: int = key("seed of computed word classes", 1, SEED)


@dataclass
class RerankConfig:
    """Features of hypotheses' words, for lists of any system."""

    ngrams: int = key("target n-grams up to this order; 0 for none", 2, Range(0, 10))
    length: bool = key("the length less that of the source", True)
    pairs: bool = key("target words with their likeliest source word (IBM Model 1 of sources and references)", True)
    least_probability: float = key("pairs at this probability or above", 0.05, PROBABILITY)
    classes: str | None = key("a file of word classes", None)
    class_ngrams: int = key("n-grams of those classes up to this order", 3, Range(0, 10))
    given_sparse: bool = key("features that are on some lines of the list only, by their values; 0 elsewhere", True)
    min_lists: int = key("a sparse feature must tell the hypotheses of so many lists apart", 3, COUNT)
    position: bool = key("1/rank in the list, as it is read", False)
    mbr: str = key(
        "expected gain if another hypothesis of the list were the reference: none, bleu or chrf",
        "none",
        ("none", "bleu", "chrf"),
    )
    mbr_scale: float = key("mbr: hypotheses are as probable as exp(scale · total); 0: all equally", 0.0, NOT_NEGATIVE)
    metric: str = key("learned for bleu, chrf, ter, column (gain_column), or a mixture like bleu:1,chrf:1", "bleu")
    gain_column: str | None = key("the list's feature that metric=column is about; nothing is learned from it", None)


@dataclass
class RulesConfig:
    """The rules of a hierarchical model (Chiang 2005, section 3, in target normal form)."""

    source_span: int = key(
        "the longest source span of the phrase pairs that rules come from, in words", 10, PHRASE_LENGTH
    )
    target_span: int = key("the longest target span of such a pair", 10, PHRASE_LENGTH)
    symbols: int = key("the most words and gaps of a source side", 5, PHRASE_LENGTH)
    most_gaps: int = key("the most gaps of a rule", 2, Range(0, 2))
    loose_phrases: bool = key("pairs that begin or end with unaligned words give rules, too", True)
    loose_gaps: bool = key("such pairs are cut out of larger ones, too", False)
    shared_counts: bool = key("a phrase pair counts 1 in all, divided among its rules; false: 1 for each rule", True)
    least_count: float = key("rules with gaps that count less are left out", 0.0, NOT_NEGATIVE)
    unlikely: float = key(
        "words whose lexical probability is below this count as inserted or deleted", 0.1, PROBABILITY
    )


@dataclass
class StructureConfig:
    """Sparse features of the structure of derivations (Watanabe et al. 2007, section 3.2)."""

    families: list[str] = key(
        "word_pair, pair_bigram, insertion, target_bigram, parent_child",
        ["word_pair", "pair_bigram", "insertion", "target_bigram", "parent_child"],
    )
    words: list[str] = key(
        "what words are looked at as: all, topN, classN (computed), prefixN, suffixN, digits, or a factor of the text, "
        "such as pos: the value that a word has most often",
        ["all", "class50"],
    )
    class_seed: int = key("seed of computed word classes", 1, SEED)


@dataclass
class ClassifierConfig:
    """A classifier in context (model=context)."""

    run: str = key("the run of the classifier; of model=phrase it may predict distortion")
    distortion: str | None = key("the run of one with predicts=distortion, for one feature more", None)


@dataclass
class ContextUseConfig(ClassifierConfig):
    """How predictions of a classifier in context (model=context) count in the phrase model."""

    only: bool = key("phrases that it says nothing of are no options", False)
    threshold: float = key(
        "predicted phrases below this probability are no options, but for the best of a word", 0.0, PROBABILITY
    )
    best: int = key("nor are those behind the so many best of a source phrase; 0: all are", 0, Range(0))
    share: float = key("how much a prediction counts against p(e|f) of the table, from 0 to 1", 1.0, PROBABILITY)


class _ModelKeys:
    """Keys that only some choices have, with the values that mean their absence."""

    sparse: SparseConfig | None = None
    rerank: RerankConfig | None = None
    structure: StructureConfig | None = None
    context: ClassifierConfig | None = None


@dataclass
class ModelConfig(_ModelKeys):
    """What every model has."""

    name: str = key("what tables call it")
    kind: str = key(
        "orientation, distortion, phrase, hierarchical, grammar, context, lcs or rerank; which keys there are depends "
        "on it"
    )


@dataclass
class EventModelConfig(ModelConfig):
    """What the models of block sequences have, which learn from the training text."""

    binary: list[str] = key("families of binary features: BB, TP, WB", [])
    threshold: int = key("a binary feature must occur so many times in the training text", 3, Range(0))
    folds: int = key(
        "events come from blocks, counts and language model of other folds than theirs; 0: of all, as in the paper",
        10,
        NO_OR_FOLDS,
    )
    alternatives: int = key("the most alternatives of an event", 9, COUNT)
    listed_only: bool = key("alternatives have been seen as successors in the training text", True)
    by_span: bool = key("alternatives have the source span of the true successor", False)
    by_target: bool = key("alternatives are also blocks with the same target words (source+target)", False)
    floats: list[str] = key(OF_FLOATS)


@dataclass
class BlockModelConfig(EventModelConfig):
    """Orientation model, floats (a)-(e) and binary features (f) (Tillmann & Zhang 2007, Table III)."""

    name: str = key("what tables call it", "block")
    kind: str = key("orientation", "orientation")
    floats: list[str] = key(OF_FLOATS, ["unigram", "orientation", "lm_first", "lm_rest", "lexical"])
    binary: list[str] = key("families of binary features: BB, TP, WB", ["BB"])
    orientation_smoothing: float = key("added to counts of orientations", 0.5, POSITIVE)
    unigram_per_word: bool = key("unigram costs are divided by source words in training, too, as in decoding", False)


@dataclass
class DistortionModelConfig(EventModelConfig):
    """Phrase-distortion model, floats (a)-(g) (Tillmann & Zhang 2007, Table V)."""

    name: str = key("what tables call it", "distortion")
    kind: str = key("distortion", "distortion")
    floats: list[str] = key(
        OF_FLOATS,
        ["direct", "model1", "lm_first", "lm_rest", "inbound", "outbound", "length"],
    )
    by_target: bool = key("alternatives are also blocks with the same target words (source+target)", True)
    jump_reach: int = key("the longest jump told apart from longer ones, in words", 7, REACH)
    jump_smoothing: float = key("how strongly jumps of a word are smoothed by those of all words", 5.0, POSITIVE)
    model1_iterations: int = key("iterations of IBM Model 1", 5, COUNT)
    direct_discount: float = key(
        "taken off every N(b) in -ln N(b)/N(T); at 0 a block seen once, its target phrase too, costs nothing",
        0.0,
        BELOW_ONE,
    )


@dataclass
class PhraseModelConfig(ModelConfig):
    """Phrase-based log-linear model with Moses's features."""

    name: str = key("what tables call it", "phrase")
    kind: str = key("phrase", "phrase")
    reordering: str = key(
        "lexicalised reordering: wbe, phrase, hier, hier5 (five orientations) or none",
        "hier",
        ("none", "wbe", "phrase", "hier", "hier5"),
    )
    histories: list[str] = key("features with history, by name; those of your own once their modules are imported", [])
    sparse: SparseConfig | None = key("chosen by sparse=…", None)
    context: ContextUseConfig | None = key("predictions in context, chosen by context=…", None)


@dataclass
class ContextModelConfig(ModelConfig):
    """Classifiers that say how a source phrase is translated in its sentence (Kolachina et al. 2010, section 3.1)."""

    name: str = key("what tables call it", "context")
    kind: str = key("context", "context")
    predicts: str = key(
        "translation; distortion: how far from its place the translation stands", TRANSLATION, (TRANSLATION, DISTORTION)
    )
    unit: str = key(
        "phrase: pairs of the phrase table; word: those of one source word whose ends are linked",
        "phrase",
        ("phrase", "word"),
    )
    longest: int = key("the most words of a source phrase", 3, PHRASE_LENGTH)
    alternatives: int = key("the most translations of a source phrase, the most frequent ones", 30, Range(2))
    folds: int = key(
        "translations of a sentence's phrases, and their counts, come from so many other folds", 10, NO_OR_FOLDS
    )
    words: list[str] = key(
        "what words are looked at as: all, topN, classN (computed), prefixN, suffixN, digits", ["all", "class50"]
    )
    class_seed: int = key("seed of computed word classes", 1, SEED)
    factors: list[str] = key(
        "what tokens are looked at as beside: pos, by data.tagger, or what data.source_factors says they hold", []
    )
    window: int = key("so many words before and behind the phrase", 3, Range(0, 1000))
    marks: str = key(
        "distance: each of these by its distance; bag: all on one side alike", "distance", ("distance", "bag")
    )
    target: list[str] = key(
        "what translations are looked at as: pair, phrase, words; [] with predicts=distortion: not at all",
        ["pair", "words"],
    )
    reach: int = key("predicts=distortion: so many words to either side are told apart", 6, REACH)
    bits: int = key("2 to this power weights", 24, Range(1, 30))
    left_out: int | None = key(
        "nothing is learned from this fold of the text, from 0; loss=xbleu needs such", None, Range(0)
    )
    left_out_of: int = key("the folds of left_out", 10, FOLDS)


@dataclass
class LcsModelConfig(ModelConfig):
    """Blocks predicted for single words, in the order that the language model likes (Kolachina et al. 2010)."""

    name: str = key("what tables call it", "lcs")
    kind: str = key("lcs", "lcs")
    context: ClassifierConfig = key("the classifier", ClassifierConfig())


@dataclass
class HierarchicalModelConfig(ModelConfig):
    """Hierarchical rules in target normal form, translated from left to right (Watanabe et al. 2007)."""

    name: str = key("what tables call it", "hierarchical")
    kind: str = key("hierarchical", "hierarchical")
    rules: RulesConfig = key("rules that are extracted", RulesConfig())
    structure: StructureConfig | None = key("sparse features, chosen by structure=…", None)


@dataclass
class GrammarModelConfig(ModelConfig):
    """A whole grammar of another system, with the weights and the language model that it came with."""

    name: str = key("what tables call it", "grammar")
    kind: str = key("grammar", "grammar")


@dataclass
class RerankModelConfig(ModelConfig):
    """Ranks n-best lists of any system anew."""

    name: str = key("what tables call it", "rerank")
    kind: str = key("rerank", "rerank")
    rerank: RerankConfig = key("features of hypotheses", RerankConfig())


MODELS: dict[str, type[ModelConfig]] = {
    "orientation": BlockModelConfig,
    "distortion": DistortionModelConfig,
    "phrase": PhraseModelConfig,
    "context": ContextModelConfig,
    "lcs": LcsModelConfig,
    "hierarchical": HierarchicalModelConfig,
    "grammar": GrammarModelConfig,
    "rerank": RerankModelConfig,
}
