"""Ours and the alternatives in one run."""
