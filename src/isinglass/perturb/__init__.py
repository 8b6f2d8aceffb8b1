"""Perturbations: a table in, a release out, and a key that stays with the owner."""
