"""The papers' synthetic sets, generated flights, and one loader for files."""

# Not lazy: `flights` names a file and a function, and only an import made here lets the function
# win whatever was imported first. It costs numpy and `chance`; pyarrow waits until `load`.
from isinglass.datasets.dataset import Dataset
from isinglass.datasets.files import available, load
from isinglass.datasets.flights import flight_batches, flights
from isinglass.datasets.synthetic import (
    banana,
    e_gau_dis,
    helical_coil,
    mixed_gaussian,
    o_gau_dis,
    uni_dis,
    v_gau_dis,
)

__all__ = [
    "Dataset",
    "available",
    "banana",
    "e_gau_dis",
    "flight_batches",
    "flights",
    "helical_coil",
    "load",
    "mixed_gaussian",
    "o_gau_dis",
    "uni_dis",
    "v_gau_dis",
]
