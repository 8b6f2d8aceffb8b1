"""Sensitive privacy, run again."""
