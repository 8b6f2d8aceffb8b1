"""Compiled loops: plain functions on arrays, and the indexes built of them."""
