"""The codes of orientations, in files, arrays and names alike."""

# A block relative to its predecessor (Tillmann & Zhang 2007, section 2).
LEFT, RIGHT, NEUTRAL = 0, 1, 2
LETTERS = "LRN"

# A phrase relative to the phrases before or behind it (Koehn et al. 2005; Galley & Manning 2008).
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2
# The five-way model has two kinds of discontinuous, and a kind of monotone where all other words form one block.
DISCONTINUOUS_LEFT, DISCONTINUOUS_RIGHT, MONOTONE_GLOBAL = DISCONTINUOUS, 3, 4
