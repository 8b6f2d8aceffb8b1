"""How far a release lies from its table: privacy levels and levels of randomization."""

from isinglass.lazy import lazy_names

# The names are listed in `metrics.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
