"""xlate compare A B ref=[REF,…]: where two systems differ."""

from __future__ import annotations

from pathlib import Path

from xlate.config.schema import CompareConfig

CONFIG = CompareConfig
POSITIONAL = ("a", "b")


def run(config: CompareConfig) -> None:
    """Prints the comparison; with `out=` also writes it as `compare.txt` and `compare.html` into a folder."""
    from xlate.jobs.compare import compare, comparison_html, comparison_text
    from xlate.text.lines import atomic_write

    found = compare(config)
    text, written = comparison_text(found), []
    # Files come first: whoever reads what is printed may stop at any line.
    if config.out is not None:
        for name, shown in (("compare.txt", text), ("compare.html", comparison_html(found))):
            with atomic_write(Path(config.out) / name) as stream:
                stream.write(shown.encode("utf-8"))
            written.append(Path(config.out) / name)
    print(text, end="")
    for path in written:
        print(path)
