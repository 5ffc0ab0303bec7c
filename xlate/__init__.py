"""xlate: a discriminative translation trainer with millions of sparse features."""

__version__ = "0.1.0"
