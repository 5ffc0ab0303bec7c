"""Grammars of cdec, Joshua and Moses, and the systems that their configurations describe."""
