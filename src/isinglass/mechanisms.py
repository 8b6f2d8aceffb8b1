"""Public names of the mechanisms, loaded on first use: random answers, and tests of them."""

from isinglass.lazy import lazy_names

# The names are listed in `mechanisms.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
