"""Translations of source phrases predicted from their context (Kolachina et al. 2010)."""
