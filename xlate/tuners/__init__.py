"""Tuners of float weights over n-best lists of a dev set, one file each."""
