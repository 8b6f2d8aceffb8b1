"""The papers' tables and figures, run again by the product itself, beside what they printed.

Every paper is a folder of one shape, which `core.run` relies on and `tests/papers` checks:
`paper.py` with `reproduce(how, tell)`, its names `PAPER` (the folder's), `TITLE`, `REFERENCE`, and
`FILES`, the data sets it reads; and `printed.py`, what the paper prints, which needs nothing
else of ours. All else is by topic: what is measured, claims about it, figures.
"""
