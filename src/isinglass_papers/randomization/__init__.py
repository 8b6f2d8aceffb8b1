"""Randomization and public information, run again."""
