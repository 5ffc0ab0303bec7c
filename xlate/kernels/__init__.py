"""Compiled versions of the hot loops, as functions of plain arrays."""
