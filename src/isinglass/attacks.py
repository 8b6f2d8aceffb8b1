"""Public names of the `attack` package, loaded on first use: attacks and attacker knowledge."""

from isinglass.lazy import lazy_names

# The names are listed in `attacks.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
