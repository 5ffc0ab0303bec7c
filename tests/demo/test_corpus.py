"""The built-in corpus against sentences written by hand, and the properties that make it useful."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.demo.corpus import LONGEST, SHORTEST, SPLITS, DemoCorpus, DemoSentence, Split, text_of
from xlate.demo.meaning import Clause, Couple, Draw, Name, NounPhrase, Pronoun, Sentence, Setting
from xlate.demo.words import (
    ADJECTIVES,
    BY_TARGET,
    COPULA,
    EVERY_NOUN,
    FREQUENCY,
    HEADS,
    MOVING,
    RESTING,
    TIMES,
    TRANSITIVE,
    Selecting,
    Word,
    past_of,
    plural_of,
    with_s,
)
from xlate.demo.writers import SourceWriter, TargetWriter
from xlate.errors import InputError
from xlate.text.factors import FactorNames
from xlate.text.lines import read_lines
from xlate.text.tokens import Preprocessor


class Usual(Draw):
    """Takes the usual form and the usual order, always."""

    def __init__(self) -> None:
        super().__init__("usual")

    def chance(self, probability: float) -> bool:
        return probability > 0.5


@pytest.fixture(scope="module")
def training() -> list[DemoSentence]:
    return DemoCorpus(1).sentences(2000, "train")


@pytest.fixture(scope="module")
def held_out() -> list[DemoSentence]:
    return DemoCorpus(1).sentences(300, "test")


def verb(target: str) -> Word:
    return next(word for word in [*TRANSITIVE, *RESTING, *MOVING] if target in word.target)


def phrase(
    noun: str, *, plural: bool = False, definite: bool = True, adjective: str = "", **more: object
) -> NounPhrase:
    said_of = quality(noun, adjective) if adjective else None
    return NounPhrase(BY_TARGET[noun], plural, definite, adjective=said_of, **more)  # type: ignore[arg-type]


def quality(noun: str, adjective: str) -> Selecting:
    """The adjective that means this beside this noun."""
    return next(word for word in ADJECTIVES[BY_TARGET[noun].kind] if adjective in word.target)


SAILOR, WOMAN = phrase("sailor"), phrase("woman")
THIS, TWO = Word(("s",), ("this",)), Word(("mel",), ("two",))
SENTENCES = [
    # Object before verb, adjective behind noun, plural endings and particles.
    (
        Clause(phrase("sailor", plural=True, adjective="old"), verb("see"), object=phrase("boat")),
        "desan geltan va bunpa ri nufene",
        "the old sailors see the boat",
    ),
    # The other gender; an indefinite object has no particle but an article.
    (
        Clause(phrase("king", adjective="old"), verb("see"), object=phrase("egg", definite=False)),
        "fifo gelto va brero nufet",
        "the old king sees an egg",
    ),
    # The article goes by the next word.
    (
        Clause(SAILOR, verb("see"), object=phrase("boat", definite=False, adjective="expensive")),
        "desa va bunpa kirra nufet",
        "the sailor sees an expensive boat",
    ),
    # One source verb, two meanings told apart by the object.
    (Clause(SAILOR, verb("read"), object=phrase("letter")), "desa va mola ri nerfut", "the sailor reads the letter"),
    (Clause(SAILOR, verb("open"), object=phrase("door")), "desa va varno ri nerfut", "the sailor opens the door"),
    # A stem in -i has one form for one and for many.
    (Clause(SAILOR, verb("know"), object=WOMAN), "desa va nirka ri glollis", "the sailor knows the woman"),
    (
        Clause(Couple(SAILOR, WOMAN), verb("know"), object=Name("Beldan")),
        "desa pru nirka va Beldan ri glollis",
        "the sailor and the woman know Beldan",
    ),
    # One postposition, three prepositions told apart by the noun; two more by its class.
    (Clause(SAILOR, verb("sleep"), setting=Setting("em", phrase("house"))), "desa va lunla em nirvut", "in the house"),
    (Clause(SAILOR, verb("sleep"), setting=Setting("em", phrase("hill"))), "desa va krollo em nirvut", "on the hill"),
    (Clause(SAILOR, verb("sleep"), setting=Setting("em", phrase("mill"))), "desa va bobo em nirvut", "at the mill"),
    (
        Clause(SAILOR, verb("walk"), setting=Setting("dor", phrase("house"))),
        "desa va lunla dor perput",
        "into the house",
    ),
    (Clause(SAILOR, verb("walk"), setting=Setting("dor", Name("Belvik"))), "desa va Belvik dor perput", "to Belvik"),
    (Clause(SAILOR, verb("walk"), setting=Setting("ani", WOMAN)), "desa va nirka ani perput", "with the woman"),
    (Clause(SAILOR, verb("walk"), setting=Setting("ani", phrase("train"))), "desa va zospo ani perput", "by train"),
    (Clause(SAILOR, verb("walk"), setting=Setting("lur", WOMAN)), "desa va nirka lur perput", "near the woman"),
    # Owners, determiners, compounds, drinks.
    (
        Clause(SAILOR, verb("sell"), object=phrase("boat", possessor=WOMAN)),
        "desa va nirka no bunpa ri lefut",
        "the sailor sells the boat of the woman",
    ),
    (
        Clause(phrase("king", determiner=THIS), verb("see"), object=phrase("horse", plural=True, determiner=TWO)),
        "so fifo va melon krornon ri nufet",
        "this king sees two horses",
    ),
    (
        Clause(SAILOR, verb("see"), object=phrase("bridge", plural=True, modifier=BY_TARGET["stone"])),
        "desa va firnevarpan ri nufet",
        "the sailor sees the stone bridges",
    ),
    (
        Clause(SAILOR, verb("drink"), object=phrase("milk", definite=False)),
        "desa va vapo pikut",
        "the sailor drinks milk",
    ),
    # Tenses, negation, adverbs, pronouns, the copula.
    (Clause(SAILOR, verb("see"), "past", object=WOMAN), "desa va nirka ri nufem", "the sailor saw the woman"),
    (
        Clause(SAILOR, verb("see"), "future", object=WOMAN),
        "desa va nirka ri nufer sol",
        "the sailor will see the woman",
    ),
    (Clause(SAILOR, verb("see"), "present", True, WOMAN), "desa va nirka ri nufet nu", "does not see the woman"),
    (Clause(SAILOR, verb("see"), "past", True, WOMAN), "desa va nirka ri nufem nu", "the sailor did not see the woman"),
    (
        Clause(Pronoun(Word(("ges",), ("they/them",)), True), verb("see"), object=WOMAN, adverb=FREQUENCY[1]),
        "ges fal nirka ri nufene",
        "they always see the woman",
    ),
    (
        Clause(WOMAN, verb("see"), object=Pronoun(Word(("ges",), ("they/them",)), True)),
        "nirka va ges ri nufet",
        "the woman sees them",
    ),
    (
        Clause(phrase("egg", plural=True), COPULA, predicate=quality("egg", "fresh")),
        "breron va kiron asne",
        "the eggs are fresh",
    ),
    (
        Clause(phrase("train"), COPULA, "past", predicate=quality("train", "new")),
        "zospo va kiro asm",
        "the train was new",
    ),
]


def say(sentence: Sentence) -> tuple[str, str]:
    source, target = SourceWriter(Usual()).sentence(sentence), TargetWriter(Usual()).sentence(sentence)
    return " ".join(token.text for token in source), " ".join(token.text for token in target)


@pytest.mark.parametrize(("clause", "source", "target"), SENTENCES)
def test_a_clause_says_what_was_written_by_hand(clause: Clause, source: str, target: str) -> None:
    said, heard = say(Sentence((clause,)))
    assert said == source + " ."
    assert heard == target + " ." if target.startswith(("the", "this")) else heard.endswith(" " + target + " .")


def test_sentences_around_clauses() -> None:
    sees = Clause(SAILOR, verb("see"), object=WOMAN)
    saw = Clause(SAILOR, verb("see"), "past", object=WOMAN)
    assert say(Sentence((sees,), "?")) == ("ka desa va nirka ri nufet ?", "does the sailor see the woman ?")
    assert say(Sentence((saw,), "!", TIMES["past"][1])) == (
        "rembo desa va nirka ri nufem !",
        "last week the sailor saw the woman !",
    )
    assert say(Sentence((sees,), place=Setting("ner", phrase("house")))) == (
        "lunla ner desa va nirka ri nufet .",
        "behind the house , the sailor sees the woman .",
    )
    two = (Clause(SAILOR, verb("sleep")), Clause(phrase("woman", plural=True), verb("wait"), "present", True))
    assert say(Sentence(two)) == (
        "desa va nirvut , oda nirkan va megis nu .",
        "the sailor sleeps , but the women do not wait .",
    )


def test_every_word_of_a_clause_may_be_another_that_means_the_same() -> None:
    class Unusual(Draw):
        def chance(self, probability: float) -> bool:
            return False

    beautiful = phrase("child", adjective="beautiful")
    clause = Clause(beautiful, verb("repair"), "past", object=phrase("boat"), adverb=FREQUENCY[0])
    heard = TargetWriter(Unusual("other")).sentence(Sentence((clause,)))
    assert " ".join(token.text for token in heard) == "the pretty kid frequently fixed the vessel ."


def test_the_same_seed_gives_the_same_lines_everywhere() -> None:
    assert DemoCorpus(1).pairs(2, "dev") == [
        ("Talfa falran va folla nufem.", "Last year the teachers saw tea."),
        ("Dano krorno va Marmouth em nirvut.", "Every horse sleeps in Marmouth."),
    ]


@settings(max_examples=10, deadline=None)
@given(st.integers(-(10**9), 10**9), st.sampled_from(SPLITS), st.integers(0, 15), st.integers(0, 15))
def test_asking_for_more_continues_the_same_list(seed: int, split: Split, few: int, more: int) -> None:
    assert DemoCorpus(seed).pairs(few + more, split)[:few] == DemoCorpus(seed).pairs(few, split)


def test_seeds_and_splits_share_no_source_sentence() -> None:
    lines = {split: {s for seed in (1, 2) for s, _ in DemoCorpus(seed).pairs(150, split)} for split in SPLITS}
    assert not lines["train"] & lines["dev"]
    assert not lines["train"] & lines["test"]
    assert not lines["dev"] & lines["test"]
    assert all(len(found) > 250 for found in lines.values()), "another seed gives other sentences"


def test_no_sentence_stands_twice_and_all_are_of_the_promised_length(training: list[DemoSentence]) -> None:
    assert len({tuple(s.source) for s in training}) == len(training)
    sides = [side for s in training for side in (s.source, *s.references)]
    assert {len(side) for side in sides} == set(range(SHORTEST, LONGEST + 1))
    assert all(side[0][0].isupper() and side[-1] in (".", "!", "?") for side in sides)


def test_links_join_what_means_the_same(training: list[DemoSentence]) -> None:
    particles = {"va", "ri"}
    for s in training:
        assert s.links == sorted(set(s.links))
        assert s.gloss == [s.references[0][t] if t else lowered(s) for _, t in s.links]
        unlinked = {s.source[i] for i in set(range(len(s.source))) - {i for i, _ in s.links}}
        assert unlinked <= particles
        free = {s.references[0][j].lower() for j in set(range(len(s.references[0]))) - {j for _, j in s.links}}
        assert free <= {"the", "a", "an", ","}


def lowered(sentence: DemoSentence) -> str:
    """The first target word as it stands within a sentence: names alone keep their capital."""
    word = sentence.references[0][0]
    source = next(i for i, j in sentence.links if j == 0)
    return word if sentence.source[source] == word else word.lower()


def test_a_neighbour_tells_which_meaning_is_meant(training: list[DemoSentence]) -> None:
    documents, things = {"mola", "berfo", "desso"}, {"varno", "fulpa", "vuga", "limpa"}
    read: set[str] = set()
    opened: set[str] = set()
    for s in training:
        for place in range(len(s.source) - 2):
            noun, particle, word = (w.lower() for w in s.source[place : place + 3])
            if particle == "ri" and word in ("nerfut", "nerfum"):
                said = {s.references[0][j] for i, j in s.links if i == place + 2}
                read |= said if noun in documents else set()
                opened |= said if noun in things else set()
    assert read == {"read", "reads"}
    assert {"opened", "opens"} <= opened <= {"open", "opened", "opens"}


def test_adjectives_end_as_the_noun_in_front_of_them(training: list[DemoSentence]) -> None:
    stems = {word.source[0] for words in ADJECTIVES.values() for word in words}
    checked = 0
    for s in training:
        for noun, word in pairwise(s.source):
            if word.removesuffix("n")[:-1] in stems and noun != "va":
                ending = noun[-2:] if noun.endswith("n") else noun[-1]
                assert word.endswith(ending), (noun, word)
                checked += 1
    assert checked > 300


def test_order_is_hard_and_mostly_local(training: list[DemoSentence]) -> None:
    orders = [[target for _, target in s.links] for s in training]
    turns = Counter(sum(b < a for a, b in pairwise(order)) for order in orders)
    total = len(training)
    assert turns[0] < 0.1 * total, "few sentences keep their order"
    assert sum(turns[n] for n in (1, 2)) > 0.6 * total, "most need one exchange or two"
    assert sum(count for n, count in turns.items() if n > 3) < 0.1 * total


def test_a_word_by_word_gloss_is_a_bad_translation_and_freedom_has_bounds(held_out: list[DemoSentence]) -> None:
    first, second = ([text_of(s.references[n]) for s in held_out] for n in (0, 1))
    gloss = [text_of(s.gloss) for s in held_out]
    assert sacrebleu.corpus_bleu(gloss, [first], lowercase=True).score < 20
    assert 75 < sacrebleu.corpus_bleu(second, [first], lowercase=True).score < 92


def test_the_test_set_has_words_that_training_has_not(held_out: list[DemoSentence]) -> None:
    known = {word.lower() for s in DemoCorpus(1).sentences(4000, "train") for word in s.source}
    unseen = [(s, i) for s in held_out for i, word in enumerate(s.source) if word.lower() not in known]
    tokens = sum(len(s.source) for s in held_out)
    assert 0.005 * tokens < len(unseen) < 0.03 * tokens
    copied = [s.source[i] for s, i in unseen if s.source[i] in s.references[0]]
    compounds = [s.source[i] for s, i in unseen if sum(i == source for source, _ in s.links) == 2]
    assert len(copied) >= 5
    assert len(compounds) >= 3


def test_lines_are_tokenised_into_what_they_were_made_of(held_out: list[DemoSentence]) -> None:
    source, target = Preprocessor("src"), Preprocessor("tgt")
    for s in held_out:
        assert source.tokens(text_of(s.source)) == s.source
        assert target.tokens(text_of(s.references[0])) == s.references[0]
        assert target.text(s.references[0]) == text_of(s.references[0])


def test_words_of_the_lexicon_are_told_apart() -> None:
    for noun in EVERY_NOUN:
        assert all(form[-1] in "ao" for form in noun.source), noun
    assert all(form[-1] in "eiu" for word in [*TRANSITIVE, *RESTING, *MOVING] for form in word.source)
    meanings: dict[str, set[str]] = {}
    for word in [*EVERY_NOUN, *TRANSITIVE, *RESTING, *MOVING, *(a for each in ADJECTIVES.values() for a in each)]:
        for form in word.source:
            meanings.setdefault(form, set()).add(word.target[0])
    ambiguous = {form: found for form, found in meanings.items() if len(found) > 1}
    assert set(map(len, ambiguous.values())) <= {2, 3}
    assert 15 < len(ambiguous) < 40
    nouns = {form[:-1] for noun in EVERY_NOUN for form in noun.source}
    verbs = {form for word in [*TRANSITIVE, *RESTING, *MOVING] for form in word.source}
    assert not nouns & verbs
    # Different classes of objects or subjects go with each meaning of a verb or an adjective.
    for words in (TRANSITIVE, [a for kind in ADJECTIVES.values() for a in kind]):
        kinds: dict[str, dict[str, frozenset[str]]] = {}
        for word in words:
            kinds.setdefault(word.source[0], {})[word.target[0]] = word.kinds
        for found in kinds.values():
            assert sum(map(len, found.values())) == len(frozenset().union(*found.values()))


def test_compounds_are_of_known_nouns() -> None:
    assert set(BY_TARGET) >= set(HEADS.split())


def test_english_forms() -> None:
    plurals = [plural_of(noun) for noun in ("box", "boy", "church", "diary", "man")]
    assert plurals == ["boxes", "boys", "churches", "diaries", "men"]
    assert [with_s(v) for v in ("see", "carry", "fix", "toss", "buy")] == [
        "sees",
        "carries",
        "fixes",
        "tosses",
        "buys",
    ]
    assert [past_of(v) for v in ("carry", "play", "hide", "wait")] == ["carried", "played", "hid", "waited"]


def test_draws_follow_their_weights() -> None:
    draw = Draw("weights")
    picked = Counter(draw.pick("abc", (1, 0, 3)) for _ in range(4000))
    assert picked["b"] == 0
    assert picked["c"] / 4000 == pytest.approx(0.75, abs=0.03)
    ranks = Counter(draw.zipf(range(3)) for _ in range(6000))
    assert [ranks[r] / 6000 for r in range(3)] == pytest.approx([6 / 13, 4 / 13, 3 / 13], abs=0.03)
    assert not any(draw.chance(0.0) for _ in range(100))
    assert all(draw.chance(1.0) for _ in range(100))


def test_files_hold_what_pairs_gives(tmp_path: Path) -> None:
    corpus = DemoCorpus(5)
    corpus.write(tmp_path / "new", train=30, dev=20, test=10)
    folder = tmp_path / "new"
    names = {"train.src", "train.tgt"}
    names |= {f"{split}.{end}" for split in ("dev", "test") for end in ("src", "tgt", "tgt.0", "tgt.1")}
    assert {path.name for path in folder.iterdir()} == names
    for split, count in (("train", 30), ("dev", 20), ("test", 10)):
        lines = list(zip(read_lines(folder / f"{split}.src"), read_lines(folder / f"{split}.tgt"), strict=True))
        assert lines == corpus.pairs(count, split)  # type: ignore[arg-type]
    assert read_lines(folder / "dev.tgt.0") == read_lines(folder / "dev.tgt")
    assert read_lines(folder / "dev.tgt.1") == [text_of(s.references[1]) for s in corpus.sentences(20, "dev")]


def test_factored_files_hold_the_same_words(tmp_path: Path) -> None:
    corpus = DemoCorpus(5)
    corpus.write(tmp_path, train=25, dev=4, test=4, factored=True)
    split, rows = FactorNames(("pos",)).split, corpus.sentences(25)
    lines = [split(line) for line in read_lines(tmp_path / "train.factored.src")]
    assert lines == [(sentence.source, {"pos": sentence.classes}) for sentence in rows]
    second = [split(line) for line in read_lines(tmp_path / "dev.factored.tgt.1")]
    dev = corpus.sentences(4, "dev")
    assert second == [(s.references[1], {"pos": s.reference_classes[1]}) for s in dev]
    names = ["train-0"] * 10 + ["train-1"] * 10 + ["train-2"] * 5
    assert read_lines(tmp_path / "train.documents") == names
    assert read_lines(tmp_path / "train.src") == [text_of(s.source) for s in rows]


def test_word_classes(training: list[DemoSentence]) -> None:
    """Every word has one, and words have few: a verb that is a noun elsewhere is told by its place."""
    seen: dict[str, set[str]] = {}
    for sentence in training:
        sides = [(sentence.source, sentence.classes)]
        sides += zip(sentence.references, sentence.reference_classes, strict=True)
        for words, classes in sides:
            for word, word_class in zip(words, classes, strict=True):
                seen.setdefault(word.lower(), set()).add(word_class)
    assert {name for classes in seen.values() for name in classes} == {
        "NOUN", "NAME", "PRON", "VERB", "AUX", "ADJ", "DET", "ADV", "ADP", "CONJ", "PART", "PUNCT"
    }  # fmt: skip
    assert seen["the"] == {"DET"}
    assert seen["va"] == {"PART"}
    assert seen["with"] == {"ADP"}
    assert seen["teacher"] == {"NOUN"}
    assert max(map(len, seen.values())) <= 2


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="negative number"):
        DemoCorpus(1).write(tmp_path / "none", train=5, dev=5, test=-1)
    assert not (tmp_path / "none").exists()
    with pytest.raises(InputError, match="train or dev or test"):
        DemoCorpus(1).pairs(1, "valid")  # type: ignore[arg-type]
