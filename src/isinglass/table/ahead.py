"""Read-ahead: the next block is read while this one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def one_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in the same order; the next is made in another thread meanwhile."""
    source = iter(items)
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(next, source, end)
        while (item := pending.result()) is not end:
            pending = pool.submit(next, source, end)
            yield item
