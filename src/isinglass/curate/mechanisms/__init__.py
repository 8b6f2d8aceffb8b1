"""Mechanisms that answer a question at a price, and a check of their guarantee."""
