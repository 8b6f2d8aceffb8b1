"""Findings made by hand, for the report's tests: the usual, the tiny, the troubled."""

from __future__ import annotations

import math
from dataclasses import replace

from isinglass.auditing.findings import (
    PARTLY,
    RECOVERED,
    RESISTED,
    AttackerResult,
    AttackResult,
    ColumnResult,
    Detection,
    Findings,
    Linkage,
    PolicyLine,
    Privacy,
    SkippedAttack,
)
from isinglass.auditing.notes import AuditNote, Kind


def said(text: str, *, public: bool = True) -> AuditNote:
    """A fact that is nothing but its sentence."""
    return AuditNote(Kind.QUOTED, {"text": text}, public)


ROW = 987_654  # a row number that stands nowhere else
SENSORS = ("altitude", "mach", "pitch", "roll", "n1", "n2", "egt", "fuel_flow", "oil_temperature")
LEVELS = (
    ("naive", "column statistics", 0.36, None),
    ("known_input", "30 known pairs", 0.71, 30),
    ("known_input", "58 known pairs", 0.83, 58),
    ("known_input", "290 known pairs", 0.94, 290),
    ("known_input", "1,000 known pairs", 0.97, 1000),
    ("sample", "a sample of 10,000 records", 0.52, None),
    ("ica", "column statistics", 0.44, None),
    ("map", "a sample of 10,000 records, the public parameters of Distortion", 0.61, None),
    ("spectral", "column statistics, the public parameters of Distortion", 0.37, None),
    ("linkage", "a public table of 100,000 records, 290 known pairs", 0.58, 290),
    ("distance", "30 known records without their rows", 0.40, None),
    ("collusion", "2 colluding participants with 40 shared records", 0.66, 40),
    ("stolen_key", "the key", 0.996, None),
)


def columns(success: float, names: tuple[str, ...], baseline: float = 0.35):
    """One result a column, spread evenly around the attack's mean."""
    n = len(names)
    return tuple(
        ColumnResult(
            name=name,
            success=min(1.0, max(0.0, success + 0.2 * (i / max(1, n - 1) - 0.5))),
            baseline=baseline,
            error=0.2 * (1 - success) + 0.001 * i,
            r2=success - 0.1,
            gain=min(1.0, max(0.0, success + 0.2 * (i / max(1, n - 1) - 0.5) - baseline) / 0.65),
        )
        for i, name in enumerate(names)
    )


def attack(name="known_input", knowledge="30 known pairs", success=0.71, **fields) -> AttackResult:
    """One attack; what is not given follows from its success."""
    names = fields.pop("names", ("a", "b"))
    usual = {
        "low": success - 0.02, "high": min(1.0, success + 0.02), "baseline": 0.35,
        "control": 0.36, "control_kind": "held out", "worst_column": names[-1],
        "columns": columns(success, names), "r2": max(0.0, success - 0.3), "near": success / 2,
        "near_baseline": 0.08, "outliers": success - 0.1, "outliers_baseline": 0.12,
        "rest": success + 0.001, "gain": max(0.0, (success - 0.35) / 0.65),
        "gain_low": max(0.0, (success - 0.37) / 0.65), "gain_high": (success - 0.33) / 0.65,
        "worst_gain": max(0.0, (success - 0.25) / 0.65), "n_records": 10_000,
    }  # fmt: skip
    return AttackResult(name=name, knowledge=knowledge, success=success, **(usual | fields))


def usual(verdict: str = RECOVERED, n_columns: int = 29) -> Findings:
    """A tanh release of flights, attacked by everybody."""
    names = tuple(f"{SENSORS[i % 9]}_{i // 9 + 1}" for i in range(n_columns))
    attacks = [
        attack(name, known, success, n_pairs=pairs, names=names, with_key=name == "stolen_key")
        for name, known, success, pairs in LEVELS
    ]
    table = tuple((1 + i / 12) ** -0.8 for i in range(500))
    released = tuple(s**0.45 * (1 + 0.12 * math.sin(7 * i)) for i, s in enumerate(table))
    return Findings(
        rows=100_000,
        columns=n_columns,
        method="Distortion",
        promise="heuristic",
        detection=Detection(
            rate=0.942, low=0.918, high=0.961, n_outliers=500, mean=0.936, deviation=0.012,
            rank_correlation=0.913, precision=((50, 0.98), (250, 0.96)), auc_table=0.981,
            auc_release=0.974, chance=0.005, table_scores=table,
            release_scores=tuple(s / max(released) for s in released),
        ),
        attacks=tuple(attacks),
        skipped=(SkippedAttack("collusion", said("no colluders were given"), applicable=True),),
        privacy=Privacy(minimum=0.021, average=0.048),
        linkage=Linkage(
            average=214.3, worst_1pct=2, expected=231.7, linked=0.083, n_public=100_000,
            worst_records=((ROW, 1), (17, 1), (4021, 2), (77_011, 2)),
            reidentification=0.21, reidentification_high=0.23, reidentification_max=1.0,
            n_records=9604,
            by_dimension=tuple((d, 40_000 / d**1.6, 9_000 / d**2.4) for d in (1, 2, 4, 8, 16, 29)),
        ),
        verdict=verdict,
        attackers=tuple(
            AttackerResult(name, f"what {name} holds", found, gain, gain - 0.02, gain + 0.02,
                           r2=gain, linked=linked, strongest="known_input")
            for name, found, gain, linked in (
                ("outsider", RESISTED, 0.03, None), ("acquainted", PARTLY, 0.4, 0.02),
                ("insider", verdict, 0.95, 0.083), ("key_holder", RECOVERED, 1.0, 0.083),
            )
        ),
        recognition=Linkage(
            average=500, worst_1pct=20, expected=None, linked=0.02, n_public=100_000,
            reidentification=0.06, reidentification_high=0.07, reidentification_max=1.0,
            n_records=1000,
        ),
        unique=0.25,
        notes=(
            said("The bounds were learned from the table."),
            said(f"row {ROW} lies far out on its own", public=False),
        ),
        assumptions=(
            said("The method and all its public parameters are known."),
            said("Some records are recognized: 30, 58, 290 and 1,000 of them."),
            said("A tenth of the table is known as a sample of similar records."),
        ),
        settings={
            "random_state": 20_261_115, "n_trials": 5, "attacks": "auto", "knowledge": "auto",
            "n_neighbors": 5, "looked_at_rows": [ROW], "table": "/home/owner/flights.parquet",
            "command": "isinglass audit flights.parquet release.parquet",
            "versions": {"isinglass": "0.1.0", "numpy": "2.4.0"},
        },
        n_trials=5,
        n_attacked=10_000,
        seconds=41.0,
    )  # fmt: skip


def tiny() -> Findings:
    """Three records of one column, one attack that gets nothing."""
    one = attack("naive", "column statistics", 0.34, names=("only",), low=0.05, high=0.8,
                 control=None, control_kind=None, outliers=None, rest=None, r2=0.0, near=0.0,
                 worst_gain=0.0, n_records=3)  # fmt: skip
    return Findings(
        rows=3, columns=1, method="unknown", promise="heuristic",
        detection=Detection(rate=1.0, low=0.2, high=1.0, n_outliers=1, chance=1 / 3,
                            table_scores=(1.0,), release_scores=(1.0,)),
        attacks=(one,), skipped=(), privacy=Privacy(0.4, 0.4), linkage=None, verdict=RESISTED,
        n_attacked=3,
    )  # fmt: skip


def troubled() -> Findings:
    """No linkage; failed and skipped attacks; missing numbers; a policy that is not met."""
    nan = math.nan
    broken = attack("ica", "column statistics", nan, low=nan, high=nan, gain=nan, worst_gain=nan,
                    control=None, outliers=None, rest=None, columns=(), r2=nan, near=nan,
                    failed=said(f"did not converge; row {ROW} is extreme", public=False),
                    )  # fmt: skip
    partly = attack("sample", "a sample of 200 records", 0.55, control=None, control_kind=None)
    no_better = attack("naive", "column statistics", 0.35, low=0.33, high=0.37, gain=0.0, r2=0.0,
                       near=0.08)  # fmt: skip
    return replace(
        tiny(),
        rows=2000,
        columns=2,
        attacks=(no_better, partly, broken),
        detection=Detection(rate=0.6, low=0.5, high=0.7, n_outliers=200, chance=0.1,
                            rank_correlation=nan),
        skipped=(
            SkippedAttack("spectral", said("noise was not added")),
            SkippedAttack("map", said("the public parameters are not known"), applicable=True),
        ),
        privacy=Privacy(nan, nan),
        verdict=PARTLY,
        policy=(
            PolicyLine("at least 80 % of the anomalies found", "50 % at the lower limit", False),
            PolicyLine("known_input at most 0.3 over its baseline", "0.21", True),
            PolicyLine("every attack run", "ica failed", False),
        ),
    )  # fmt: skip
