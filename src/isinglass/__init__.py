"""Privacy-preserving anomaly detection: releases, detectors, attacks, and honest answers."""

from isinglass.lazy import lazy_names

__version__ = "0.1.0"

# The names are listed in `__init__.pyi`.
__getattr__, __dir__ = lazy_names(__name__, __file__)
