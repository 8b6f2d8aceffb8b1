# The names of `isinglass.mechanisms`.

from isinglass.curate.mechanisms.compiler import compile_mechanism
from isinglass.curate.mechanisms.falsify import falsify as falsify
from isinglass.curate.mechanisms.mechanism import (
    bounded_mechanism,
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)

bounded = bounded_mechanism
compile = compile_mechanism
dp = dp_mechanism
sensitive = sensitive_mechanism
sparse = sparse_mechanism
