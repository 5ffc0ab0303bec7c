"""Lattice construction and scoring: predicted blocks in the order that the language model likes."""
