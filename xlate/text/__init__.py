"""Text: reading and writing lines, tokens, casing, factors, vocabularies, word classes; atomic files and folders."""
