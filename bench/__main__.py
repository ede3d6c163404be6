"""python -m bench [--part NAME …] [--quick] [--output docs/performance.md]

Without options: every part at full size, about ten minutes and 5 GB in the folder for files (kept for the next run).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.grading import measure_grading
from bench.judging import measure_judging
from bench.reads import measure_reads
from bench.results import Result, circumstances, markdown_table, rich_table
from bench.spans import measure_spans
from bench.whole import measure_whole

Part = Callable[[], list[Result]]
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PARTS = ("whole", "grading", "spans", "judge", "reads")


def parts_to_run(chosen: tuple[str, ...], folder: Path, *, quick: bool) -> Iterator[tuple[str, Part]]:
    """Title and work of each part, in the order of PARTS."""
    sizes = (20_000,) if quick else (100_000, 1_000_000)
    largest = max(sizes)
    num_otlp, num_calls = (2_000, 500) if quick else (20_000, 3_000)
    table: dict[str, list[tuple[str, Part]]] = {
        "whole": [(f"Ingest and grade {n:,} traces", partial(measure_whole, folder, n)) for n in sizes],
        "grading": [(f"Grading alone, {n:,} traces", partial(measure_grading, folder, n)) for n in sizes],
        "spans": [(f"Span formats, {num_otlp:,} traces", partial(measure_spans, folder, num_otlp))],
        "judge": [(f"Judging, {num_calls:,} calls", partial(measure_judging, num_calls))],
        "reads": [(f"Reading a store of {largest:,} traces", partial(measure_reads, folder, largest))],
    }
    for name in PARTS:
        if name in chosen:
            yield from table[name]


def write_between_marks(page: Path, measured: str) -> None:
    """Replaces what stands between BEGIN and END in `page`, and leaves its prose. ValueError without the marks."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{str(page)!r} has no lines {BEGIN!r} and {END!r} for the tables to stand between")
    page.write_text(f"{before}{begin}\n\n{measured}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS, help="measure only these")
    parser.add_argument("--quick", action="store_true", help="small sizes, in about a minute; goals are for full size")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "gradebook-bench")
    parser.add_argument("--output", type=Path, help="also put the tables into this page, between its marks")
    options = parser.parse_args()
    command = f"python -m bench {' '.join(sys.argv[1:])}".strip()
    console = Console()
    around = {"command": command} | circumstances()
    for name, value in around.items():
        console.print(f"{name}: {value}")
    pages = []
    for title, part in parts_to_run(tuple(options.part), options.folder, quick=options.quick):
        with console.status(title):
            results = part()
        console.print(rich_table(title, results))
        pages.append(markdown_table(title, results))
    if options.output:
        facts = "\n".join(f"- {name}: {value}" for name, value in around.items())
        write_between_marks(options.output, f"{facts}\n\n" + "\n".join(pages))


if __name__ == "__main__":
    main()
