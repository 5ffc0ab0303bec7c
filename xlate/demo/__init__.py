"""The built-in corpus, which is generated when it is needed."""
