"""N-best lists of any system: read, learned from, ranked anew, reported on."""
