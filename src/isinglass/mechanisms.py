"""Public names of the curator's privacy mechanisms, loaded lazily."""

from isinglass.lazy import lazy_names

# The names are listed in `mechanisms.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
