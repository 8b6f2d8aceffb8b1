"""The colors of every picture and chart."""

from __future__ import annotations

#: Okabe and Ito's, told apart with any color vision, and two more; on a light page.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f")
INK, SOFT, FAINT, LINE, PAPER = "#1d2733", "#5b6876", "#b8c2cc", "#e1e6ec", "#ffffff"
