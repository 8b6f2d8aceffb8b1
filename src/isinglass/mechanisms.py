"""Answers drawn at random at a stated price, and a test that tries to refute them."""

from isinglass.lazy import lazy_names

# The names are listed in `mechanisms.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
