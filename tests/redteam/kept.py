"""Cases of kept columns that say something together, or at some period, and a control."""

from __future__ import annotations

from tests.redteam import by_kept as by
from tests.redteam import by_membership as members
from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case

KEPT = [
    Case("kept-stay", "noise of scale 8, dates of coming and leaving as they are", "outsider",
         "r2", mk.ours(t.stays, "gaussian", "scale=8", keep="admitted,discharged"),
         by.means_by_stay),
    Case("kept-same-country", "noise of scale 8, codes of sender and receiver as they are",
         "outsider", "r2", mk.ours(t.senders, "gaussian", "scale=8", keep="sender,receiver"),
         by.means_by_same_country),
    Case("kept-index", "noise of scale 8, weight and height as they are", "acquainted", "r2",
         mk.ours(t.bodies, "gaussian", "scale=8", keep="weight,height"),
         by.sample_means_by_index),
    Case("kept-plots", "noise of scale 8, places in a field as they are", "outsider", "r2",
         mk.ours(t.plots, "gaussian", "scale=8", keep="x,y"), by.means_by_plot),
    Case("kept-tide", "noise of scale 8, moments as they are", "outsider", "r2",
         mk.ours(t.tides, "gaussian", "scale=8", keep="at"), by.best_wave),
    Case("kept-dates-members", "noise of scale 8, dates that mean nothing as they are",
         "outsider", "membership",
         mk.ours(t.idle_dates, "gaussian", "scale=8", keep="admitted,discharged", split=True),
         members.kept_values_are_there),
    Case("kept-age-members", "noise of scale 15, area and age as they are", "outsider",
         "membership", mk.ours(t.areas_and_ages, "gaussian", "scale=15", keep="area,age",
                               split=True), members.rare_kept_values_are_there),
    Case("kept-visits-members", "noise of scale 25, the patient of each visit as it is",
         "outsider", "membership",
         mk.ours(t.visits, "gaussian", "scale=25", keep="patient", split=True),
         members.kept_values_are_there),
    Case("control-kept-label", "noise of scale 15, a label of two values as it is", "outsider",
         "resisted", mk.ours(t.labeled, "gaussian", "scale=15", keep="label")),
]  # fmt: skip
