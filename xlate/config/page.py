"""Descriptions of every key and choice, and the page of them all, docs/configuration.md.

python -m xlate.config.page > docs/configuration.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xlate.config import model_schema
from xlate.config.choices import CHOICES, PLACES, SCHEMAS, Choice, conf_folder, default_of, own_keys, schema_within
from xlate.config.schema import COMMANDS
from xlate.learning import settings as train_settings
from xlate.search.settings import GrammarSearch
from xlate.settings import MISSING, Range, keys_in, limit_of, plain

HEAD = """# Configuration

Every command takes `key=value`. Keys come in groups, and each group is a choice: `model=phrase` chooses the phrase
model, and with it the keys under `model.`, its decoder (`decoder.`) and its loss (`loss.`). Each choice accepts only
the keys listed with it. `model.kind`, `model.name`, `loss.name`, `loss.tune.name`, `source.name` and `cluster.name`
record your choices and are not listed. `xlate train model=phrase --help` shows the keys of a choice. Put your own files
into a folder, pass it with `--config-dir`, and begin each file with a choice: `defaults: [mira, _self_]`.

Names and paths may contain any letters and symbols: `run=runs/Läufe`. A name with a comma (or, in a list, brackets)
needs nested quotes, `run="'a,b'"`, unless it exists. `${` refers to the value of another key, so names cannot have it.

`python -m xlate.config.page > docs/configuration.md` generates this page. `-` marks keys that you must set. Each key
and choice links to itself: `configuration.md#loss.tune.rounds`, `#sparse=all`, and for keys of commands `#serve-port`.
"""
# Names of schemas that several choices share, or that a choice has only in some place.
WITHOUT_NAME: dict[type[Any], str] = {
    model_schema.GrammarModelConfig: "imported grammars",
    GrammarSearch: "imported grammars",
    train_settings.LocalLossConfig: "perceptron, hinge",
    train_settings.TunedLossConfig: "tuners",
    train_settings.ListLossConfig: "xbleu",
    train_settings.RankingLossConfig: "xbleu of model=rerank",
    train_settings.ContextListLossConfig: "xbleu of model=context",
}
BAR = "\\|"
# The groups, and the commands that have each.
GROUPS = {
    "recipe": "xlate prepare and xlate train",
    "model": "xlate train",
    "sparse": "xlate train",
    "structure": "xlate train model=hierarchical",
    "context": "xlate train model=phrase",
    "loss": "xlate train",
    "loss/tune": "xlate train loss=xbleu",
    "source": "xlate train",
    "cluster": "xlate prepare, xlate train with -m, a tuner, loss=xbleu or model=hierarchical, and xlate translate",
    "decoder": "xlate train; its keys also when a run translates, according to its model",
    "data": "xlate prepare",
    "align": "xlate prepare",
    "lm": "xlate prepare",
    "phrases": "xlate prepare",
}
# Keys that hold the name of a choice.
NAMES = ("model.kind", "model.name", "loss.name", "loss.tune.name", "source.name", "cluster.name")


class Row(NamedTuple):
    """A key as some schemas have it, and its value in command-line form."""

    key: str
    value: str
    range: str
    words: str


def groups_of(command: str) -> dict[str, str]:
    """The groups of a command, each with the choice that it goes with, if any."""
    found = {group: re.search(rf"xlate {command}(?: (\S+=\S+))?(?=[ ,;]|$)", of) for group, of in GROUPS.items()}
    return {group: match[1] or "" for group, match in found.items() if match}


def choices_of(group: str) -> dict[str, str]:
    """The choices of a group, each with the first sentence of its description."""
    choices = CHOICES.get(group, {}) | (CHOICES["loss/tune"] if group == "loss" else {})
    said = {name: node.words if isinstance(node, Choice) else node.__doc__ or "" for name, node in choices.items()}
    found = {name: first_sentence(words) for name, words in said.items()}
    for path in (conf_folder() / group).glob("*.yaml"):
        comments = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        found[path.stem] = first_sentence(" ".join(line for line in comments if not line.startswith("@package")))
    return dict(sorted(found.items()))


def first_sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    words = " ".join(text.split())
    end = re.search(r"(?<!al)(?<!Eq)\. ", words)
    return words if end is None else words[: end.start() + 1]


def rows(kind: type[Any], prefix: str, held: Mapping[str, Any], chosen: Mapping[str, type[Any]]) -> Iterator[Row]:
    """The keys of a schema and of schemas within it, with their values: from `held`, or else their defaults."""
    for field in keys_in(kind):
        key, value = prefix + field.name, held.get(field.name, plain(default_of(field)))
        within = chosen.get(key) or schema_within(kind, field)
        if key in NAMES:
            continue
        # Each tuner has different keys.
        if within is not None and isinstance(value, Mapping) and (key != "loss.tune" or key in chosen):
            yield from rows(within, f"{key}.", value, chosen)
        else:
            limit = limit_of(field) or ()
            ranged = str(limit) if isinstance(limit, Range) else ", ".join(limit)
            yield Row(key, plainly(value), ranged, str(field.metadata.get("words", "")))


def plainly(value: Any) -> str:
    """A value in command-line form; for a tuner, its name."""
    if isinstance(value, Mapping) and "name" in value:
        return str(value["name"])
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def page() -> str:
    """The page."""
    lines, anchored = [HEAD], set[str]()
    for group, of in GROUPS.items():
        choices = (f"- {linked(f'{group}={name}')}: {words}" for name, words in choices_of(group).items())
        lines += [f"## {group}\n", f"Used by {of}.\n", *choices, "", *_table(PLACES.get(group, group), anchored)]
    lines.append("## Keys of commands\n")
    for command, kind in sorted(COMMANDS.items()):
        lines += [f"### xlate {command}\n", f"{usage(kind)}.\n"]
        for one in own_keys(kind):
            value, words = plainly(default_of(one)), one.metadata["words"]
            key = linked(one.name, f"{command}-{one.name}")
            lines.append(f"- {key}: {'required' if value == MISSING else f'`{value}`'}. {words}")
        lines.append("")
    return "\n".join(lines)


def linked(text: str, anchor: str | None = None) -> str:
    """Code that is an anchor, and a link to it, on GitHub and in a site alike: `#text`, or another anchor."""
    anchor = anchor or text
    return f'<a id="{anchor}" href="#{anchor}"><code>{text}</code></a>'


def _table(place: str, anchored: set[str]) -> Iterator[str]:
    """One row per key, with the schemas that have it; a key that differs between schemas has several rows.

    The first row of a key on the page has its anchor; `anchored` are the keys of earlier rows.
    """
    kinds = SCHEMAS[place]
    having: dict[Row, list[str]] = {}
    for kind in kinds:
        for row in rows(kind, f"{place}.", {}, {}):
            having.setdefault(row, []).append(_called(kind))
    if not having:
        return
    yield "| key | default | allowed | choices | meaning |"
    yield "|---|---|---|---|---|"
    order = list(dict.fromkeys(row.key for row in having))
    for row, names in sorted(having.items(), key=lambda item: order.index(item[0].key)):
        having_it = "all" if len(names) == len(kinds) else ", ".join(names)
        default = "-" if row.value == MISSING else f"`{row.value}`"
        key = f"`{row.key}`" if row.key in anchored else linked(row.key)
        anchored.add(row.key)
        yield f"| {key} | {default} | {row.range} | {having_it} | {row.words.replace('|', BAR)} |"
    yield ""


def _called(kind: type[Any]) -> str:
    """The name of a schema: that of its choice."""
    named = (name for choices in CHOICES.values() for name, node in choices.items() if node is kind)
    return WITHOUT_NAME.get(kind) or next(named, kind.__name__)


def usage(command: type[Any]) -> str:
    """A command's docstring, which shows its usage, on one line."""
    return " ".join(str(command.__doc__).split()).removesuffix(".")


if __name__ == "__main__":
    sys.stdout.write(page())
