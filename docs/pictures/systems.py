"""The pictures of docs/systems/: `python docs/pictures/systems.py` writes them beside this file."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from draw import AMBER, BLUE, FAINT, GREEN, GREY, PAPER, ROSE, Drawing  # noqa: E402

SOURCE = ("heute", "hat", "er", "das", "Buch", "gelesen")


def blocks() -> Drawing:
    """A sequence of blocks in the grid of source and target positions, with their orientations."""
    d = Drawing(
        760, 400, "Four blocks: the second lies right of the first, the third apart, the fourth left of the third"
    )
    left, top, wide, high = 150, 60, 85, 46
    target = ("today", "he", "has", "read", "the", "book")
    for place, word in enumerate(SOURCE):
        d.text(left + (place + 0.5) * wide, top - 20, word, bold=True)
        for row in range(6):
            d.box((left + place * wide, top + row * high), (wide, high), fill=PAPER)
    for row, word in enumerate(target):
        d.text(left - 14, top + (row + 0.5) * high, word, anchor="end", bold=True)
    found = [
        (0, 1, 0, 1, "b1  N", GREY),
        (1, 3, 1, 3, "b2  R", GREEN),
        (5, 6, 3, 4, "b3  N", AMBER),
        (3, 5, 4, 6, "b4  L", BLUE),
    ]
    for start, end, first, last, words, fill in found:
        d.box(
            (left + start * wide, top + first * high),
            ((end - start) * wide, (last - first) * high),
            words,
            fill=fill,
            bold=True,
        )
    notes = [
        (14, "R", "b2 lies right behind b1", GREEN),
        (262, "N", "b3 lies apart from b2", AMBER),
        (500, "L", "b4 lies just before b3", BLUE),
    ]
    for x, letter, words, fill in notes:
        d.box((x, 355), (26, 26), letter, fill=fill, bold=True)
        d.text(x + 36, 368, words, anchor="start")
    return d


def phrases() -> Drawing:
    """One step of the phrase decoder: coverage before and after, what the step costs, and the stacks."""
    d = Drawing(
        760, 420, "A hypothesis that covers three source words is extended by a phrase and goes to the next stack"
    )

    def row(x: float, y: float, covered: set[int], new: set[int], said: str) -> None:
        for place, word in enumerate(SOURCE):
            fill = AMBER if place in new else BLUE if place in covered else PAPER
            d.box((x + place * 54, y), (54, 36), "", fill=fill)
            d.text(x + place * 54 + 27, y + 18, word, size=12)
        d.text(x, y + 56, said, anchor="start")

    d.text(18, 22, "hypothesis, three words covered", anchor="start", fill=FAINT)
    row(18, 40, {0, 1, 2}, set(), "today he has …")
    d.text(418, 22, "extended, four words covered", anchor="start", fill=FAINT)
    row(418, 40, {0, 1, 2}, {5}, "today he has read …")
    d.line((350, 58), (408, 58), arrow=True)
    d.box((250, 118), (260, 52), ("option: gelesen → read", "jumps over 2 words"), fill=AMBER)
    d.line((380, 116), (380, 64), dashed=True)
    costs = ("TranslationModel0  four scores of the pair", "LM0  ln p(read | he has)", "Distortion0  -2")
    more = ("LexicalReordering0  ln p(jump)", "WordPenalty0  -1", "PhrasePenalty0  +1")
    for number, (one, two) in enumerate(zip(costs, more, strict=True)):
        d.text(60, 200 + number * 22, f"+ {one}", anchor="start", size=14)
        d.text(440, 200 + number * 22, f"+ {two}", anchor="start", size=14)
    held = (1, 3, 3, 3, 3, 3, 1)
    for stack in range(7):
        x = 24 + stack * 104
        d.box((x, 290), (88, 86), fill=GREY if stack not in (3, 4) else BLUE if stack == 3 else AMBER)
        for slot in range(held[stack]):
            d.box((x + 10, 298 + slot * 25), (68, 19), fill=PAPER)
        d.text(x + 44, 394, f"{stack} covered", size=13)
    d.curve((24 + 3 * 104 + 70, 288), (24 + 4 * 104 + 30, 288), 34)
    return d


def hierarchical() -> Drawing:
    """Three rules, the tree of a derivation, and the translation that grows from left to right."""
    d = Drawing(760, 430, "A derivation with rules that have gaps; the target grows from left to right")
    colours = (GREEN, AMBER, BLUE)
    given = (("er X1", "he X1"), ("hat X1 gelesen", "has read X1"), ("das Buch", "the book"))
    d.text(18, 22, "rules: source side, target side with its gap at the end", anchor="start", fill=FAINT)
    for number, ((source, target), fill) in enumerate(zip(given, colours, strict=True)):
        d.box((18, 40 + number * 46), (150, 36), source, fill=fill)
        d.line((170, 58 + number * 46), (196, 58 + number * 46), arrow=True)
        d.box((200, 40 + number * 46), (130, 36), target, fill=fill)
    d.text(18, 210, "the target grows", anchor="start", fill=FAINT)
    steps = (
        ("he", GREEN, "gap open: hat das Buch gelesen"),
        ("he has read", AMBER, "gap open: das Buch"),
        ("he has read the book", BLUE, "done"),
    )
    for number, (words, fill, rest) in enumerate(steps):
        d.box((18, 228 + number * 58), (190, 34), words, fill=fill)
        d.text(218, 245 + number * 58, rest, anchor="start", size=13, fill=FAINT)
        if number < 2:
            d.line((113, 263 + number * 58), (113, 284 + number * 58), arrow=True)
    d.text(440, 22, "derivation over the source", anchor="start", fill=FAINT)
    words = ("er", "hat", "das", "Buch", "gelesen")
    place = {word: 440 + number * 62 for number, word in enumerate(words)}
    for word in words:
        fill = GREEN if word == "er" else BLUE if word in ("das", "Buch") else AMBER
        d.box((place[word], 330), (58, 36), fill=fill)
        d.text(place[word] + 29, 348, word, size=13)
    d.box((520, 44), (120, 38), "er X1", fill=GREEN)
    d.box((560, 134), (140, 38), "hat X1 gelesen", fill=AMBER)
    d.box((574, 224), (104, 38), "das Buch", fill=BLUE)
    d.line((580, 84), (620, 132), arrow=True)
    d.line((630, 174), (627, 222), arrow=True)
    d.text(612, 104, "X1", anchor="start", size=13)
    d.text(638, 198, "X1", anchor="start", size=13)
    for word, start in (
        ("er", (540, 84)),
        ("hat", (578, 174)),
        ("gelesen", (686, 174)),
        ("das", (604, 264)),
        ("Buch", (642, 264)),
    ):
        d.line(start, (place[word] + 29, 328), dashed=True, fill=FAINT)
    d.text(440, 394, "dashed: words that a rule translates itself", anchor="start", size=13, fill=FAINT)
    return d


def context() -> Drawing:
    """An instance: a source phrase, the words around it as features, and its possible translations."""
    d = Drawing(760, 330, "The word Bank in its sentence: the words around it decide between bench, bank and shore")
    words = ("sie", "saß", "auf", "der", "Bank", "im", "Park", ".")
    marks = ("", "-3", "-2", "-1", "", "+1", "+2", "+3")
    for number, (word, mark) in enumerate(zip(words, marks, strict=True)):
        fill = AMBER if word == "Bank" else BLUE if mark else PAPER
        d.box((32 + number * 88, 40), (78, 38), word, fill=fill, bold=word == "Bank")
        d.text(71 + number * 88, 94, mark, size=13, fill=FAINT)
        if mark:
            d.line((71 + number * 88, 104), (330 + (number - 4) * 12, 152), fill=FAINT)
    d.text(
        380,
        18,
        "a window of three words to either side: each word, its class, its part of speech, by distance",
        size=13,
        fill=FAINT,
    )
    d.box(
        (180, 156), (300, 52), ("features of the context × features", "of each translation, a weight each"), fill=GREY
    )
    d.text(500, 172, "→ scores → softmax", anchor="start", size=14)
    d.text(500, 194, "(these figures are made up)", anchor="start", size=13, fill=FAINT)
    found = (
        ("bench", 0.81, "saß -3, Park +2 speak for it"),
        ("bank", 0.17, "most frequent without context"),
        ("shore", 0.02, ""),
    )
    for number, (word, p, why) in enumerate(found):
        y = 228 + number * 32
        d.box((180, y), (78, 25), word, fill=GREEN if not number else PAPER)
        d.box((270, y + 4), (max(3.0, 210 * p), 17), fill=GREEN if not number else GREY)
        d.text(490, y + 12, f"{p:.2f}", anchor="start", size=14)
        d.text(540, y + 12, why, anchor="start", size=13, fill=FAINT)
    return d


def sparse() -> Drawing:
    """A list of four hypotheses under expected BLEU: probabilities, gains, and the push that each gets."""
    d = Drawing(
        760, 300, "Expected BLEU: hypotheses that gain more than the expectation are pushed up, the others down"
    )
    listed = (
        ("he has the book read", 0.6, 0.42),
        ("he has read the book", 0.3, 1.00),
        ("he read book", -0.5, 0.25),
        ("he the book read has", -0.9, 0.18),
    )
    weights = [math.exp(score) for _, score, _ in listed]
    p = [weight / sum(weights) for weight in weights]
    expected = sum(one * gain for one, (_, _, gain) in zip(p, listed, strict=True))
    for x, words in ((120, "hypothesis"), (322, "p"), (470, "BLEU of the sentence"), (662, "push: p · (BLEU - E)")):
        d.text(x, 22, words, fill=FAINT, size=14)
    for number, ((words, _, gain), one) in enumerate(zip(listed, p, strict=True)):
        y, push = 42 + number * 46, one * (gain - expected)
        d.box((18, y), (210, 34), words, fill=GREY)
        d.box((250, y + 8), (150 * one, 18), fill=BLUE)
        d.text(258 + 150 * one, y + 17, f"{one:.2f}", anchor="start", size=13)
        d.box((400, y + 8), (130 * gain, 18), fill=AMBER)
        d.text(560, y + 17, f"{gain:.2f}", anchor="start", size=13)
        d.box(
            (610, y), (128, 34), f"{'↑' if push > 0 else '↓'}  {push:+.3f}", fill=GREEN if push > 0 else ROSE, bold=True
        )
    x = 400 + 130 * expected
    d.line((x, 36), (x, 232), dashed=True)
    d.text(x, 246, f"E = {expected:.2f}", size=14)
    d.text(
        380,
        280,
        "each push goes to the weights of all sparse features that fire in the hypothesis",
        size=14,
        fill=FAINT,
    )
    return d


def lists() -> Drawing:
    """A list in the order of its system and in the new order."""
    d = Drawing(760, 310, "Reranking: the third translation of a list becomes the first")
    old = ("a man is sleep .", "man sleeps .", "a man is asleep .", "the man asleep .")
    new = (2, 0, 3, 1)
    d.text(118, 22, "the system's order", fill=FAINT)
    d.text(642, 22, "the new order", fill=FAINT)
    d.box((262, 44), (236, 190), fill=GREY)
    features = ("total score", "comet=… of your own", "ngram=is asleep", "pair=schläft|asleep", "length=+1", "mbr chrf")
    d.text(380, 62, "features × learned weights", bold=True, size=14)
    for number, words in enumerate(features):
        d.text(380, 90 + number * 24, words, size=14)
    for number, words in enumerate(old):
        d.box((18, 50 + number * 46), (200, 34), f"{number + 1}  {words}", fill=GREEN if number == 2 else PAPER)
        d.line((220, 67 + number * 46), (258, 67 + number * 46), arrow=True)
    for number, rank in enumerate(new):
        d.line((500, 67 + number * 46), (538, 67 + number * 46), arrow=True)
        d.box((542, 50 + number * 46), (200, 34), f"{rank + 1}  {old[rank]}", fill=GREEN if rank == 2 else PAPER)
    d.text(
        380,
        268,
        "Weights come from lists of a dev set with references, and are tested on other lists.",
        size=14,
        fill=FAINT,
    )
    return d


# chrF on test, the mean of three seeds and their standard deviation, by docs/choices.md.
CHOICES = {
    "50 best of a beam": ((60.27, 0.32), (60.06, 0.10), (60.88, 0.25), (62.60, 0.32), (62.81, 0.22)),
    "50 samples": ((60.18, 0.18), (59.08, 0.46), (59.86, 0.45), (61.89, 0.19), (61.97, 0.28)),
}


def choices() -> Drawing:
    """How good the translations are that different ways choose from the same lists."""
    d = Drawing(760, 330, "chrF of the translations chosen from a transformer's lists: learned weights choose best")
    ways = ("the system's first", "best single column", "agreement (MBR)", "learned weights", "with MBR and words")
    for number, way in enumerate(ways):
        d.text(180, 66 + number * 50, way, anchor="end", bold=number > 2)
        d.line((195, 66 + number * 50), (690, 66 + number * 50), fill=GREY)
    for value in range(59, 64):
        x = 200 + (value - 58.5) * 108
        d.line((x, 44), (x, 288), fill=GREY)
        d.text(x, 304, str(value), size=13, fill=FAINT)
    d.text(445, 322, "chrF on test (weights were learned for BLEU)", size=13, fill=FAINT)
    for (name, rows), shift, fill, x in zip(CHOICES.items(), (-9, 9), (BLUE, AMBER), (330, 560), strict=True):
        d.box((x - 92, 10), (14, 14), fill=fill)
        d.text(x - 70, 17, name, size=14, anchor="start")
        for number, (mean, deviation) in enumerate(rows):
            y, left, right = 66 + number * 50 + shift, mean - deviation - 58.5, mean + deviation - 58.5
            d.line((200 + left * 108, y), (200 + right * 108, y))
            d.box((193 + (mean - 58.5) * 108, y - 7), (14, 14), fill=fill)
    return d


PICTURES: tuple[Callable[[], Drawing], ...] = (blocks, phrases, hierarchical, context, sparse, lists, choices)

if __name__ == "__main__":
    for picture in PICTURES:
        picture().write(HERE / f"{picture.__name__}.svg")
