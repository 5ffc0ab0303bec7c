"""The built-in corpus, which is generated on demand."""
