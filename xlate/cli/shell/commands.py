"""The commands of xlate, in the order of its help."""

from __future__ import annotations

COMMANDS = {
    "prepare": "corpus → work directory: tokens, alignments, language model, blocks, counts",
    "train": "work directory → run: weights, metrics, TensorBoard, checkpoints",
    "translate": "translates standard input with a run",
    "serve": "a run over HTTP: JSON, and a page that shows translations with their phrases",
    "score": "BLEU with interval and signature, chrF, TER, NIST, LexAcc; two outputs: paired tests",
    "compare": "two systems' outputs side by side: buckets, n-grams, examples, with the paired test",
    "import": "a system of Moses, Joshua or cdec → run that translates",
    "export": "a run of the phrase model → Moses tables, weights, moses.ini",
    "pack": "a run with all that translating needs, as one file or folder for other machines",
    "inspect": "what a run learned: the strongest features in words, one translation explained",
    "report": "the table and plots of one or many runs",
    "demo": "the whole path on the built-in corpus",
    "align": "word alignment of two plain files",
    "lm": "n-gram language model of a plain file",
    "phrases": "phrase table of two plain files and their links",
    "nbest": "n-best lists of any system: check, import, oracle, rescore, pairs, score",
    "events": "candidate stores: export as text, import from it",
    "aer": "alignment error rate against gold links",
    "tag": "plain lines → tokens with their parts of speech",
}
