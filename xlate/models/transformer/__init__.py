"""A transformer over pieces of words: it translates, and scores translations of others (Vaswani et al. 2017)."""
