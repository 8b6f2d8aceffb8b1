"""Weights of columns, typed or in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def weights_for(given: Sequence[str], columns: Sequence[str], name: str) -> list[float] | None:
    """One weight per column, 1 where none is given; None where no weight is given at all."""
    import math

    from isinglass.errors import TableError

    if not given:
        return None
    pairs: list[tuple[str, object]] = []
    for item in given:
        if "=" in item:
            pairs += _pairs(item, columns)
        elif Path(item).is_file():
            pairs += _pairs_in_file(Path(item))
        else:
            raise ValueError(f"--weights must be COL=W[,COL=W] or a file, got {item}")
    found: dict[str, float] = {}
    for column, text in pairs:
        try:
            weight = math.nan if isinstance(text, bool) else float(text)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            weight = math.nan
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"--weights must be finite numbers >= 0, got {column}={text}")
        if column not in columns:
            raise TableError(f"--weights names {column}, which {name} does not have as a feature")
        if column in found:
            raise ValueError(f"--weights must name a column once, got {column} twice")
        found[column] = weight
    if not any(found.get(column, 1.0) for column in columns):
        raise ValueError("--weights must leave at least one column a weight above 0")
    return [found.get(column, 1.0) for column in columns]


def _pairs(item: str, columns: Sequence[str]) -> list[tuple[str, object]]:
    whole, _, weight = item.rpartition("=")
    if whole in columns and "," not in weight:  # also a name with a comma or an equals sign in it
        return [(whole, weight)]
    pairs: list[tuple[str, object]] = []
    for part in filter(None, item.split(",")):
        column, equals, weight = part.rpartition("=")
        if not equals:
            raise ValueError(f"--weights must be COL=W[,COL=W] or a file, got {part}")
        pairs.append((column, weight))
    return pairs


def _pairs_in_file(path: Path) -> list[tuple[str, object]]:
    from isinglass.documents import DocumentError, read_json
    from isinglass.errors import TableError

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise TableError(f"weights file {path} cannot be read as UTF-8 text") from None
    pairs: list[tuple[str, object]] = []
    if text.lstrip().startswith("{"):
        try:
            return [(str(n), w) for n, w in read_json(text, as_pairs=True)]
        except DocumentError as error:
            raise TableError(
                f"weights file {path} is not a JSON object of numbers: {error}"
            ) from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        column, comma, weight = line.rpartition(",")
        if not comma:
            raise TableError(f"weights file {path}, line {number}: expected column,weight")
        if number > 1 or weight.strip().lower() != "weight":
            pairs.append((column.strip().strip('"'), weight.strip()))
    return pairs
