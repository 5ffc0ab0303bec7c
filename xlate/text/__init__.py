"""Parallel corpora, tokens, factors, vocabulary, token normalisation, truecasing and the built-in corpus."""
