"""The links of a training text, part by part: tasks of `xlate prepare`, once a model is learned from a sample."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from xlate.align.aligner import align_with, learn
from xlate.align.direction import usable_pairs
from xlate.align.links import Links, joined_links
from xlate.arrays.ranges import pieces
from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import load_part, save_part
from xlate.cluster import ClusterConfig, uses_cluster
from xlate.settings import Json
from xlate.work.corpus_files import SIDES
from xlate.work.directory import WorkDirectory
from xlate.work.stages import cores, make_parts, run_stage

PARTS = "align-parts"
MODEL, LINKS = f"{PARTS}/model", "links.npz"
# The sentence pairs of a part. Every task reads the model.
PART = 1 << 17


def aligned(
    work: WorkDirectory, made_from: Json, sample: int | None, cluster: ClusterConfig, scratch: Scratch
) -> Links:
    """The links of the training text, in scratch files.

    Args:
        made_from: `of`, the identity of the stage, and the `method`, `symmetrization` and `seed` of the aligner.
        sample: see `xlate.align.aligner.align`. The aligner holds the pairs it learns from in memory.

    Raises:
        InputError: see `learn`, `align_with` and `make_parts`.
    """
    size = len(work.encoded[0])
    if not len(usable_pairs(*work.encoded)):
        return Links.from_pairs([[]] * size)
    how = {name: made_from[name] for name in ("method", "symmetrization", "seed")}

    def build(folder: Path) -> Json:
        source, target = map(work.training_tokens, SIDES)
        learn(folder / "model", (source, target), **how, sample=sample, side_by_side=cores() > 1)
        return {}

    run_stage(work.path, MODEL, made_from, build)
    parts = {f"{PARTS}/{at.start}": {**made_from, "first": at.start, "last": at.stop} for at in pieces(size, PART)}
    if uses_cluster(cluster):
        make_parts(work.path, cluster, align_part, parts, "links: parts")
    for name, part in parts.items():
        run_stage(work.path, name, part, partial(align_part, work.path, part, side_by_side=cores() > 1))
    return joined_links((Links(*load_part(work.path / name / LINKS, 3)) for name in parts), scratch)


def align_part(path: Path, made_from: Json, folder: Path, side_by_side: bool = False) -> Json:
    """Aligns a part of a training text."""
    work, rows = WorkDirectory(path), (made_from["first"], made_from["last"])
    source, target = (work.training_tokens(side).part(*rows) for side in SIDES)
    links = align_with(path / MODEL / "model", source, target, side_by_side=side_by_side)
    save_part(folder / LINKS, (links.source_L, links.target_L, links.offsets_S1))
    return {"links": len(links.source_L)}
