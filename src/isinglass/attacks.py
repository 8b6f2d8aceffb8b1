"""Attacks, and the facts an attacker may hold."""

from isinglass.lazy import lazy_names

# The names are listed in `attacks.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
