"""Grammars of other systems."""
