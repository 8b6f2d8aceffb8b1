"""Databases that hold a ledger: the base class, SQLite and PostgreSQL."""
