"""Audits of files: which columns and rows of table and release belong together."""
