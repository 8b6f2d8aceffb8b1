"""Releases attacked by short scripts of strangers: the audit is never kinder than they are."""
