"""Systems of Joshua and cdec as they stand: their grammar whole, whatever form its rules have, decoded bottom-up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xlate.config.decoder_schema import RuleDecoderConfig
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.formats.scfg import cdec_config, joshua_config
from xlate.formats.scfg.normal_form import normal_form_faults, normal_share
from xlate.jobs.systems.kind import Asked
from xlate.models.hierarchical.settings import CKY
from xlate.models.scfg.cdec import open_cdec_system
from xlate.models.scfg.decoder import CkyDecoder
from xlate.models.scfg.joshua import open_joshua_system
from xlate.models.scfg.system import GrammarSearch, GrammarSystem

OPENERS = {joshua_config.SUFFIX: open_joshua_system, cdec_config.SUFFIX: open_cdec_system}
# The search is readable Python: more hypotheses over a span than this take long.
POPS = 100


def open_grammar(path: Path, given: Mapping[str, Any], asked: Asked) -> GrammarSystem:
    """The system of a configuration.

    Args:
        path: of a joshua.config or a cdec.ini.
        given: settings of the decoder by their keys; those of the search from left to right mean nothing here.
        asked: the size of lists.

    Raises:
        InputError: a file that is missing or cannot be used, a setting that does not fit, or a search other than `cky`
            over rules that it cannot use.
    """
    settings = with_settings(RuleDecoderConfig(algorithm=CKY, pop_limit=POPS), given, "decoder")
    decoder = OPENERS[path.suffix](path, settings.pop_limit)
    if settings.algorithm != CKY:
        raise _not_from_left_to_right(path, decoder, settings.algorithm)
    return GrammarSystem(
        decoder, GrammarSearch(nbest=asked.nbest, distinct=asked.distinct, max_words=settings.max_words)
    )


def _not_from_left_to_right(path: Path, decoder: CkyDecoder, algorithm: str) -> InputError:
    grammar, label = decoder.grammar.scfg, decoder.grammar.copy_label
    faults = normal_form_faults(grammar, label)
    shown = "".join(f"\n              {one}" for one in faults)
    return InputError(
        "a whole grammar is not decoded from left to right",
        file=path,
        seen=f"decoder.algorithm={algorithm}; {normal_share(grammar, label)}",
        expected=f"decoder.algorithm={CKY}, for rules of every form; not in target normal form:{shown}",
        remedy=f"leave decoder.algorithm out, or say {CKY}",
    )
