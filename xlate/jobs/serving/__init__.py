"""A run that translates over HTTP: JSON, and a page for people."""
