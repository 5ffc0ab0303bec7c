"""Decoders: whatever enumerates candidates under the current weights."""
