"""The codes of orientations, in files, arrays and names alike."""

# A block relative to its predecessor (Tillmann & Zhang 2007, section 2).
LEFT, RIGHT, NEUTRAL = 0, 1, 2
LETTERS = "LRN"

# A phrase relative to what is before or behind it (Koehn et al. 2005; Galley & Manning 2008).
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2
# The five-way model tells two ways of being discontinuous apart, and monotone phrases where all the rest is one block.
DISCONTINUOUS_LEFT, DISCONTINUOUS_RIGHT, MONOTONE_GLOBAL = DISCONTINUOUS, 3, 4
