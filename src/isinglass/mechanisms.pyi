# The names of `isinglass.mechanisms`.

from isinglass.curate.mechanisms.compiler import compile_mechanism
from isinglass.curate.mechanisms.composition import Parallel as Parallel
from isinglass.curate.mechanisms.composition import PostProcessing as PostProcessing
from isinglass.curate.mechanisms.composition import Sequential as Sequential
from isinglass.curate.mechanisms.composition import total_cost as total_cost
from isinglass.curate.mechanisms.falsify import falsify as falsify
from isinglass.curate.mechanisms.mechanism import Mechanism as Mechanism
from isinglass.curate.mechanisms.mechanism import (
    bounded_mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.query import Query as Query

bounded = bounded_mechanism
compile = compile_mechanism
dp = dp_mechanism
sensitive = sensitive_mechanism
sparse = sparse_mechanism
