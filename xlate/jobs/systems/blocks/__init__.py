"""Models over blocks."""
