"""Decoders, paths and lattices."""
