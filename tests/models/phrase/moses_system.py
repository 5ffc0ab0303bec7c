"""Small Moses systems for tests: one by hand, and the part of the real one that some sentences need."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

TABLE = """\
a b ||| x ||| 0.5 0.25 0.5 0.125 ||| 0-0 ||| 2 2 1
a ||| x ||| 0.5 0.5 0.5 0.5 ||| 0-0 ||| 2 2 1
a ||| y z ||| 1 1 0.25 0 ||| 0-0 ||| 1 4 1
b ||| y ||| 1 0.5 1 1 ||| 0-0 ||| 1 1 1
c ||| z ||| 1 1 1 1 ||| 0-0 ||| 1 1 1
"""
ORIENTATIONS = """\
a b ||| x ||| 0.5 0.25 0.125 0.6 0.3 0.1
a ||| x ||| 0.9 0.05 0.05 0.8 0.1 0.1
a ||| y z ||| 0.7 0.2 0.1 0.3 0.3 0.4
b ||| y ||| 0.2 0.3 0.5 0.1 0.2 0.7
"""
ARPA = """\

\\data\\
ngram 1=6
ngram 2=2

\\1-grams:
-2\t<unk>
-99\t<s>\t-0.5
-1\t</s>
-1.5\tx\t-0.25
-1.25\ty
-1.75\tz

\\2-grams:
-0.5\t<s> x
-0.75\tx y

\\end\\
"""
WEIGHTS = {
    "LexicalReordering0": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "Distortion0": (0.3,),
    "LM0": (0.5,),
    "WordPenalty0": (-0.4,),
    "PhrasePenalty0": (0.2,),
    "TranslationModel0": (0.1, 0.2, 0.3, 0.4),
    "UnknownWordPenalty0": (1.0,),
}
LN10 = math.log(10)


def write_system(folder: Path, kind: str = "wbe") -> Path:
    """Writes the system made by hand; returns its configuration."""
    (folder / "table").write_text(TABLE)
    (folder / "orientations").write_text(ORIENTATIONS)
    (folder / "lm.arpa").write_text(ARPA)
    features = [
        "UnknownWordPenalty",
        "WordPenalty",
        "PhrasePenalty",
        "PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=table",
        f"LexicalReordering name=LexicalReordering0 type={kind}-msd-bidirectional-fe-allff path=orientations",
        "Distortion",
        "KENLM name=LM0 order=2 path=lm.arpa",
    ]
    weights = [f"{name}= {' '.join(map(str, values))}" for name, values in WEIGHTS.items()]
    lines = ["[feature]", *features, "[distortion-limit]", "6", "[weight]", *weights]
    (folder / "moses.ini").write_text("\n".join(lines) + "\n")
    return folder / "moses.ini"


def read_packed(path: Path) -> list[str]:
    """The lines of a .gz file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
