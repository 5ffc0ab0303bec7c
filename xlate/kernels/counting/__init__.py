"""Extraction and counting over parallel text."""
