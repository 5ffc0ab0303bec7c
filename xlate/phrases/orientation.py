"""The three orientations of a block relative to its predecessor (Tillmann & Zhang 2007, section 2)."""

LEFT, RIGHT, NEUTRAL = 0, 1, 2
LETTERS = "LRN"
