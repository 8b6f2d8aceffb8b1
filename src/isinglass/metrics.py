"""Public names of the metrics, loaded on first use: privacy levels and randomization levels."""

from isinglass.lazy import lazy_names

# The names are listed in `metrics.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
