"""BLEU, chrF, TER, NIST and lexical accuracy, their intervals, and paired significance tests."""
