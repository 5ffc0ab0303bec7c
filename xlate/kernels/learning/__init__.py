"""Losses, steps and line searches over candidates."""
