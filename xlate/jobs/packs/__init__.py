"""Packed runs: one file or folder with all that translating needs."""
