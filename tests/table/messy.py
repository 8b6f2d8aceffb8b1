"""A bank's table as it comes: identifiers, names, codes, dates, decimal commas, missing values."""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa

#: What `inspect` should say of every column of `bank`.
ROLES = {
    "": "identifier",
    "transaction_id": "identifier",
    "customerId": "person",
    "customer_name": "identifier",
    "iban": "identifier",
    "email": "identifier",
    "phone": "identifier",
    "device": "identifier",
    "booked_at": "date",
    "value_date": "date",
    "amount": "number",
    "balance": "number",
    "rate": "number",
    "score": "number",
    "mcc": "category",
    "country": "category",
    "zip": "category",
    "age": "number",
    "foreign": "number",
    "remarks": "text",
    "version": "constant",
    "nothing": "constant",
    "is_fraud": "label",
}
FIRST = ("Anna", "Bernd", "Clara", "David", "Eva", "Fritz")
LAST = ("Muster", "Schmidt", "Weber", "Koch", "Lang")


def bank(n: int = 600, seed: int = 0) -> dict[str, list[str]]:
    """Texts of every column, as they stand in a CSV file with semicolons."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, n // 6, size=n)
    amount = rng.lognormal(5, 1.5, n)
    rows = range(n)
    return {
        "": [str(i) for i in rows],
        "transaction_id": [f"T{10**9 + 7 * i}" for i in rows],
        "customerId": [str(52_481_063 + 991 * w) for w in who],
        "customer_name": [f"{FIRST[w % 6]} {LAST[w % 5]}" for w in who],
        "iban": [f"DE{10 + w % 90}5001051754073249{w:02d}"[:22] for w in who],
        "email": [f"u{w}@mail.example" for w in who],
        "phone": [f"+49 30 {1000000 + 7 * w}" for w in who],
        "device": [str(uuid.UUID(int=int(w) * 2**70 + 11)) for w in who],
        "booked_at": [f"2024-01-{1 + 28 * i // n:02d} {i % 24:02d}:{i % 60:02d}" for i in rows],
        "value_date": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024" for i in rows],
        "amount": [german(a) for a in amount],
        "balance": ["n.a." if i % 50 == 7 else f"{german(a)} €" for i, a in enumerate(amount)],
        "rate": [f"{german(r)} %" for r in rng.uniform(0, 9, n)],
        "score": [f"{v:.4f}" for v in rng.normal(size=n)],
        "mcc": [str((5411, 5812, 4829, 6011)[i % 4]) for i in rows],
        "country": [("DE", "AT", "CH")[w % 3] for w in who],
        "zip": [f"{(37 * w) % 99999:05d}" for w in who],
        "age": ["" if i % 90 == 3 else str(18 + w % 60) for i, w in enumerate(who)],
        "foreign": [str(int(w % 2)) for w in who],
        "remarks": [f"payment for invoice {i} of this month, thank you" for i in rows],
        "version": ["v2"] * n,
        "nothing": [""] * n,
        "is_fraud": [str(int(i % 100 == 0)) for i in rows],
    }


def german(value: float) -> str:
    """A number with points between thousands and a decimal comma."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def as_csv(columns: dict[str, list[str]], separator: str = ";") -> str:
    """A file of these columns, its names in the first line."""
    lines = [separator.join(columns), *map(separator.join, zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


def as_table(columns: dict[str, list[str]]) -> pa.Table:
    """The same in memory, where a column's kind is text whatever it holds."""
    return pa.table({name: pa.array([v or None for v in col]) for name, col in columns.items()})
