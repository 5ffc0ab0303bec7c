"""Whole jobs made of the rooms: prepare a corpus, train a run, translate with it, the demo."""
