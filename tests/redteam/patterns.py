"""Cases of tools that leave a pattern by which rows are linked, and controls that leave none."""

from __future__ import annotations

from functools import partial

from tests.redteam import by_patterns as by
from tests.redteam import changes as ch
from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case

apart = partial(t.independent, 600, 8)


def decimals():
    """Correlated columns with three decimals."""
    return t.factors(600, 6, 3, rest=0.5).round(3)


PATTERNS = [
    Case("steps-of-one", "noise of whole numbers on three decimals", "insider", "linked",
         mk.foreign(decimals, ch.noise_in_steps(1.0)), by.residues),
    Case("steps-of-odd-size", "noise in steps of 0.37", "insider", "linked",
         mk.foreign(decimals, ch.noise_in_steps(0.37)), by.residues),
    Case("wrapped", "7919 times the value, modulo one", "insider", "linked",
         mk.foreign(decimals, ch.wrapped), by.turns),
    Case("further-digits", "the value in further digits of noise", "insider", "linked",
         mk.foreign(decimals, ch.in_further_digits), by.further_digits),
    Case("columns-permuted", "columns permuted row by row", "insider", "linked",
         mk.foreign(decimals, ch.columns_permuted_by_row), by.sorted_rows),
    Case("cells-swapped", "three cells in four swapped", "insider", "linked",
         mk.foreign(apart, ch.cells_swapped), by.agreeing_cells),
    Case("cells-suppressed", "two cells in three replaced by the mean", "insider", "linked",
         mk.foreign(decimals, ch.cells_suppressed), by.agreeing_cells),
    Case("heavy-tails", "noise that is small in most cells", "insider", "linked",
         mk.foreign(decimals, ch.heavy_tails), by.bounded_differences),
    Case("one-noise-a-row", "one noise value for each row", "insider", "linked",
         mk.foreign(decimals, ch.one_noise_a_row), by.gaps_in_the_row),
    Case("one-noise-a-row-alone", "one noise value for each row", "outsider", "r2",
         mk.foreign(decimals, ch.one_noise_a_row), by.gaps_as_values),
    Case("bent-by-row", "a factor and a shift for each row", "insider", "linked",
         mk.foreign(decimals, ch.bent_by_row), by.direction_of_gaps),
    Case("control-rounded", "noise of scale 6, rounded as the table", "insider", "resisted",
         mk.foreign(decimals, ch.strong_noise_rounded)),
    Case("control-whole", "noise of scale 6, whole numbers", "insider", "resisted",
         mk.foreign(decimals, ch.strong_noise_of_whole_numbers)),
]  # fmt: skip
