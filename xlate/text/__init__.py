"""Text: reading and writing lines, tokens, casing, factors, vocabularies, word classes, and files and folders written
whole.
"""
