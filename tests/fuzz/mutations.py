"""Damage done to the bytes of a file, drawn by a seed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import partial
from random import Random

NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# A field with the blank before it or without, and the place before a blank or a sign.
FIELD, BETWEEN = re.compile(rb"(?:[ \t\n]|\b)[^ \t\n]+"), re.compile(rb"(?=[ \t\n=:,])")
# What stands in for numbers and is put between fields.
EXTREMES = (
    b"1e999", b"-1e999", b"1e300", b"-1e300", b"1e39", b"1e-320", b"nan", b"NaN", b"inf", b"-inf", b"-0", b"-0.0",
    b"-1", b"0", b"1" + b"0" * 30, b"32768", b"2147483647", b"2147483648", b"4294967296", b"9223372036854775808",
    b"1_0", b"-1_0", b"0x10", b"1.5", b"1e5", "\u0661".encode(), "\u00b2".encode(), b"1" * 5000, b"x", b"", b"|||",
    b"|", b"=", b":", b"-", b"[x]", b"[weight-file]", b"#", b"\\end\\", b'"', b"'", b"\\", b"{", b"null", b"true",
    b"[]", b"..", b"/", b"a" * 20_000, b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\t", b"\n", "\u2028".encode(),
    "\u00a0".encode(),
)  # fmt: skip


def mutated(data: bytes, random: Random) -> bytes:
    """The same bytes with one to three things done to them."""
    for _ in range(random.choice((1, 1, 2, 3))):
        data = random.choice(KINDS)(data, random)
    return data


def _flip(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if changed else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(data: bytes, random: Random) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start + random.choice((1, 2, 8, 100, len(data))) :]


def _lines(data: bytes, random: Random) -> bytes:
    """A line is left out, emptied, doubled, put elsewhere or joined to another."""
    lines = data.split(b"\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    line, new = lines[place], random.choice(([], [b""], [lines[place]] * 2, [lines[place] + b" " + lines[other]]))
    lines[place : place + 1] = new
    if not new and random.random() < 0.5:
        lines.insert(other, line)
    return b"\n".join(lines)


def _replaced(pattern: re.Pattern[bytes], data: bytes, random: Random) -> bytes:
    """Something extreme in place of what a pattern finds at one place."""
    match = random.choice(list(pattern.finditer(data)) or [re.match(b"", data)])
    return data[: match.start()] + random.choice((*EXTREMES, b"")) + data[match.end() :] if match else data


def _packed(data: bytes, random: Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return packed if random.random() < 0.2 else random.choice((_cut, _flip))(packed, random)


def _emptied(data: bytes, random: Random) -> bytes:
    return random.choice((b"", b"\n", b"\x00", b"{}", b"[]", b"\x1f\x8b"))


_number, _insert, _field = (partial(_replaced, pattern) for pattern in (NUMBER, BETWEEN, FIELD))
KINDS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip, _flip, _cut, _cut, _lines, _lines, _number, _number, _number, _insert, _insert, _field, _field, _packed,
    _emptied,
)  # fmt: skip
