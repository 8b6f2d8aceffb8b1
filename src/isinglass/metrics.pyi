# The names of `isinglass.metrics`.

from isinglass.measure.randomization import (
    expected_randomization_level as expected_randomization_level,
)
from isinglass.measure.randomization import randomization_level as randomization_level
from isinglass.measure.vod import privacy_level as privacy_level
from isinglass.measure.vod import variance_of_difference as variance_of_difference
