# The names of `isinglass.theory`.

from isinglass.theory.bounds import expected_clipped_square as expected_clipped_square
from isinglass.theory.bounds import inner_product_bound as inner_product_bound
from isinglass.theory.bounds import saturation_index as saturation_index
from isinglass.theory.bounds import tanh_bound as tanh_bound
from isinglass.theory.double_logistic import best_curvature as best_curvature
from isinglass.theory.double_logistic import density as density
from isinglass.theory.double_logistic import guess_error_tail as guess_error_tail
from isinglass.theory.double_logistic import interval_mass as interval_mass
from isinglass.theory.moments import HiddenMoments as HiddenMoments
from isinglass.theory.moments import Setting as Setting
from isinglass.theory.moments import distance_preserving_sigma_q as distance_preserving_sigma_q
from isinglass.theory.moments import expected_inner_product as expected_inner_product
from isinglass.theory.moments import expected_product as expected_product
from isinglass.theory.moments import expected_square as expected_square
from isinglass.theory.moments import expected_squared_distance as expected_squared_distance
from isinglass.theory.moments import hidden_moments as hidden_moments
from isinglass.theory.moments import mean_squared_slope as mean_squared_slope
from isinglass.theory.moments import variance_inner_product as variance_inner_product
from isinglass.theory.moments import variance_squared_distance as variance_squared_distance
