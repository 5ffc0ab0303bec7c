"""Word alignment: links in Pharaoh form, the aligner adapter, symmetrisation, error rate, lexical tables."""
