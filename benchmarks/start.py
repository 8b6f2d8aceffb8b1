"""`python -m benchmarks.start`: what `isinglass --help` costs over an empty Python."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import best, publish


def main() -> None:
    """Measure, print, and write docs/benchmarks/start.md."""
    show = "import sys; sys.argv = ['isinglass', '--help']; from isinglass.cli import main; main()"

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    empty, ours = best(lambda: run("pass"), 20), best(lambda: run(show), 20)
    package = best(lambda: run("import isinglass"), 20)
    text = "\n".join(
        [
            "| what | seconds, best of 20 | over an empty Python |",
            "|---|---|---|",
            f"| `python -c pass` | {empty:.3f} | |",
            f"| `import isinglass` | {package:.3f} | {package - empty:.3f} |",
            f"| `isinglass --help` (bar: 0.25 more) | {ours:.3f} | {ours - empty:.3f} |",
        ]
    )
    publish("start", "python -m benchmarks.start", text)


if __name__ == "__main__":
    main()
