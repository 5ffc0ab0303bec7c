"""The block bigram model by orientation, with its decoder."""
