"""BLEU, NIST, lexical accuracy, their intervals and paired significance tests."""
