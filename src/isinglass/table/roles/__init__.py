"""Roles of a table's columns: what each looks like, and the file in which an owner states it."""
