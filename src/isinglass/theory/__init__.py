"""What can be computed about a perturbation before a single record is touched."""

from isinglass.lazy import lazy_names

# The names are listed in `__init__.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
