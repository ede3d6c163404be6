"""The daily work: read → rules → choose → judge → finish → report (DESIGN.md sections 5 to 9)."""

from grader.pipeline.ingest import ProgressListener, SourceCounts, quiet
from grader.pipeline.run import DaySelection, GradeRun, IngestRun, PlannedDay, plan, run_grade, run_ingest

__all__ = [
    "DaySelection",
    "GradeRun",
    "IngestRun",
    "PlannedDay",
    "ProgressListener",
    "SourceCounts",
    "plan",
    "quiet",
    "run_grade",
    "run_ingest",
]
