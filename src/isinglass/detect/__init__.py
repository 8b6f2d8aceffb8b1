"""Detectors: fit a table or a release, then say how strange its records are."""
