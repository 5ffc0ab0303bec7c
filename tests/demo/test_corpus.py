"""The built-in corpus against sentences written by hand, and the properties that make it useful."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.demo.corpus import LONGEST, SHORTEST, SPLITS, DemoCorpus, DemoSentence, SourceWriter, TargetWriter, text_of
from xlate.demo.meaning import Clause, Couple, Draw, Name, NounPhrase, Pronoun, Sentence, Setting
from xlate.demo.words import (
    ADJECTIVES,
    BY_TARGET,
    COPULA,
    FREQUENCY,
    MOVING,
    RESTING,
    TIMES,
    TRANSITIVE,
    Selecting,
    Word,
)
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
THEY = Pronoun(Word(("ges",), ("they/them",)), True)


def going(where, ground):
    return Clause(SAILOR, verb("walk"), setting=Setting(where, ground))


CLAUSES = [
    # Object before verb, adjective behind noun, plural endings and particles.
    (
        Clause(phrase("sailor", plural=True, adjective="old"), verb("see"), object=phrase("boat")),
        "desan geltan va bunpa ri nufene | the old sailors see the boat",
    ),
    # An indefinite object has no particle but an article, which goes by the next word.
    (
        Clause(SAILOR, verb("see"), object=phrase("boat", definite=False, adjective="expensive")),
        "desa va bunpa kirra nufet | the sailor sees an expensive boat",
    ),
    # One source verb, two meanings told apart by the object.
    (Clause(SAILOR, verb("read"), object=phrase("letter")), "desa va mola ri nerfut | the sailor reads the letter"),
    (Clause(SAILOR, verb("open"), object=phrase("door")), "desa va varno ri nerfut | the sailor opens the door"),
    # A stem in -i has one form for one and for many.
    (
        Clause(Couple(SAILOR, WOMAN), verb("know"), object=Name("Beldan")),
        "desa pru nirka va Beldan ri glollis | the sailor and the woman know Beldan",
    ),
    # Of three prepositions for a postposition the noun tells which, or its class.
    (going("em", phrase("house")), "desa va lunla em perput | the sailor walks in the house"),
    (going("dor", phrase("house")), "desa va lunla dor perput | the sailor walks into the house"),
    (going("ani", phrase("train")), "desa va zospo ani perput | the sailor walks by train"),
    # Owners, determiners, compounds, drinks.
    (
        Clause(SAILOR, verb("sell"), object=phrase("boat", possessor=WOMAN)),
        "desa va nirka no bunpa ri lefut | the sailor sells the boat of the woman",
    ),
    (
        Clause(phrase("king", determiner=THIS), verb("see"), object=phrase("horse", plural=True, determiner=TWO)),
        "so fifo va melon krornon ri nufet | this king sees two horses",
    ),
    (
        Clause(SAILOR, verb("see"), object=phrase("bridge", plural=True, modifier=BY_TARGET["stone"])),
        "desa va firnevarpan ri nufet | the sailor sees the stone bridges",
    ),
    # Tenses, negation, adverbs, pronouns, the copula.
    (Clause(SAILOR, verb("see"), "future", object=WOMAN), "desa va nirka ri nufer sol | the sailor will see the woman"),
    (
        Clause(SAILOR, verb("see"), "past", True, WOMAN),
        "desa va nirka ri nufem nu | the sailor did not see the woman",
    ),
    (
        Clause(THEY, verb("see"), object=WOMAN, adverb=FREQUENCY[1]),
        "ges fal nirka ri nufene | they always see the woman",
    ),
    (
        Clause(phrase("egg", plural=True), COPULA, "past", predicate=quality("egg", "fresh")),
        "breron va kiron asm | the eggs were fresh",
    ),
]


SEES, SAW = Clause(SAILOR, verb("see"), object=WOMAN), Clause(SAILOR, verb("see"), "past", object=WOMAN)
TWO_CLAUSES = (Clause(SAILOR, verb("sleep")), Clause(phrase("woman", plural=True), verb("wait"), "present", True))
SENTENCES = [
    (Sentence((SEES,), "?"), "ka desa va nirka ri nufet ? | does the sailor see the woman ?"),
    (
        Sentence((SAW,), "!", TIMES["past"][1]),
        "rembo desa va nirka ri nufem ! | last week the sailor saw the woman !",
    ),
    (
        Sentence((SEES,), place=Setting("ner", phrase("house"))),
        "lunla ner desa va nirka ri nufet . | behind the house , the sailor sees the woman .",
    ),
    (
        Sentence(TWO_CLAUSES),
        "desa va nirvut , oda nirkan va megis nu . | the sailor sleeps , but the women do not wait .",
    ),
    *((Sentence((clause,)), " | ".join(f"{text} ." for text in said.split(" | "))) for clause, said in CLAUSES),
]


@pytest.mark.parametrize(("sentence", "said"), SENTENCES)
def test_a_sentence_says_what_was_written_by_hand(sentence: Sentence, said: str) -> None:
    writers = SourceWriter(Usual()), TargetWriter(Usual())
    assert " | ".join(" ".join(token.text for token in writer.sentence(sentence)) for writer in writers) == said


def test_every_word_of_a_clause_may_be_another_that_means_the_same() -> None:
    class Unusual(Draw):
        def chance(self, probability: float) -> bool:
            return False

    beautiful = phrase("child", adjective="beautiful")
    clause = Clause(beautiful, verb("repair"), "past", object=phrase("boat"), adverb=FREQUENCY[0])
    heard = TargetWriter(Unusual("other")).sentence(Sentence((clause,)))
    assert " ".join(token.text for token in heard) == "the pretty kid frequently fixed the vessel ."


def test_the_same_seed_gives_the_same_sentences_everywhere():
    """The sentences, translations, links and word classes of every split, as they have always been."""
    assert DemoCorpus(1).pairs(2, "dev") == [
        ("Talfa falran va folla nufem.", "Last year the teachers saw tea."),
        ("Dano krorno va Marmouth em nirvut.", "Every horse sleeps in Marmouth."),
    ]
    digest = hashlib.sha256()
    for split in SPLITS:
        for sentence in DemoCorpus(1).sentences(300, split):
            digest.update(repr(sentence).encode())
    assert digest.hexdigest() == "b2a84b448b48cffc2998b7a31cb31bf1157f49170b9f0d9edcee3430692c9d8f"


@settings(max_examples=10, deadline=None)
@given(st.integers(-(10**9), 10**9), st.sampled_from(SPLITS), st.integers(0, 15), st.integers(0, 15))
def test_asking_for_more_continues_the_same_list(seed, split, few, more):
    assert DemoCorpus(seed).pairs(few + more, split)[:few] == DemoCorpus(seed).pairs(few, split)


def test_seeds_and_splits_share_no_source_sentence_of_other_lengths_than_promised():
    drawn = {split: [s for seed in (1, 2) for s in DemoCorpus(seed).sentences(70, split)] for split in SPLITS}
    lines = {split: {tuple(s.source) for s in sentences} for split, sentences in drawn.items()}
    assert len(set.union(*lines.values())) == sum(map(len, lines.values())) > 350, "another seed gives other sentences"
    sides = [side for sentences in drawn.values() for s in sentences for side in (s.source, *s.references)]
    assert {len(side) for side in sides} == set(range(SHORTEST, LONGEST + 1))


def test_a_word_by_word_gloss_is_a_bad_translation_and_freedom_has_bounds(held_out):
    first, second = ([text_of(s.references[n]) for s in held_out] for n in (0, 1))
    gloss = [text_of([s.references[0][target] for _, target in s.links]) for s in held_out]
    assert sacrebleu.corpus_bleu(gloss, [first], lowercase=True).score < 20
    assert 75 < sacrebleu.corpus_bleu(second, [first], lowercase=True).score < 92


def test_the_test_set_has_words_that_training_has_not(held_out):
    known = {word.lower() for s in DemoCorpus(1).sentences(2000, "train") for word in s.source}
    unseen = [word for s in held_out for word in s.source if word.lower() not in known]
    assert 0.005 < len(unseen) / sum(len(s.source) for s in held_out) < 0.05


def test_lines_are_tokenised_into_what_they_were_made_of(held_out):
    source, target = Preprocessor("src"), Preprocessor("tgt")
    for s in held_out[:100]:
        assert source.tokens(text_of(s.source)) == s.source
        assert target.tokens(text_of(s.references[0])) == s.references[0]
        assert target.text(s.references[0]) == text_of(s.references[0])


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
    for split, count in (("train", 25), ("dev", 4), ("test", 4)):
        lines = list(zip(read_lines(tmp_path / f"{split}.src"), read_lines(tmp_path / f"{split}.tgt"), strict=True))
        assert lines == corpus.pairs(count, split)  # type: ignore[arg-type]
    assert read_lines(tmp_path / "dev.tgt.0") == read_lines(tmp_path / "dev.tgt")
    assert read_lines(tmp_path / "dev.tgt.1") == [text_of(s.references[1]) for s in dev]


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="negative number"):
        DemoCorpus(1).write(tmp_path / "none", train=5, dev=5, test=-1)
    assert not (tmp_path / "none").exists()
    with pytest.raises(InputError, match="train or dev or test"):
        DemoCorpus(1).pairs(1, "valid")  # type: ignore[arg-type]
