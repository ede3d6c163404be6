"""Every error that Gradebook raises on purpose.

    GradebookError                 exit code 1
    ├── UsageError                 2   a wrong argument (a day that is no date, an unknown format)
    ├── SettingsError              2   gradebook.toml or the environment: unknown key, wrong type, bad time zone
    ├── SourceError                2   a source path that cannot be read at all
    ├── BusyError                  3   somebody else holds what is needed
    │   ├── StoreBusyError         3   the store's lock was not free in time
    │   └── RunActiveError         3   another grading run is active
    ├── StoreError                 4   the store cannot be used
    │   ├── StoreMissingError      2   there is no store yet
    │   ├── StoreDamagedError      4   the file is not a Gradebook store, or is broken
    │   ├── StoreNewerError        4   written by a newer Gradebook
    │   └── StoreFullError         4   the disk is full; what was committed is safe
    ├── ReadError                  1   one line or document cannot become a trace: ends as a quarantine row
    └── JudgeError                 1   one judge call failed: ends as a judge_failures row
        └── JudgingStoppedError    1   auth or billing: no further call makes sense

A message says what was found, what was expected, and what to do. Failures of a single trace are not raised past
the station where they happen: they become rows (`quarantine`, `judge_failures`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

FailureStage = Literal["auth", "billing", "timeout", "rate_limit", "refusal", "unparsed", "server"]


class GradebookError(Exception):
    """Base of every deliberate error; `exit_code` is what the command line ends with (DESIGN.md section 9)."""

    exit_code: ClassVar[int] = 1


class UsageError(GradebookError):
    exit_code = 2


class SettingsError(GradebookError):
    exit_code = 2


class SourceError(GradebookError):
    exit_code = 2


class BusyError(GradebookError):
    exit_code = 3


class StoreBusyError(BusyError):
    """The store's lock was not free within the bounded wait."""


class RunActiveError(BusyError):
    """Another process is grading this workspace."""


class StoreError(GradebookError):
    exit_code = 4


class StoreMissingError(StoreError):
    """There is no store file yet: nothing was ever ingested here."""

    exit_code = 2


class StoreDamagedError(StoreError):
    """The file exists but is not a readable Gradebook store."""


class StoreNewerError(StoreError):
    """The file was written by a newer Gradebook; it is refused, never changed."""


class StoreFullError(StoreError):
    """The disk filled up. Committed rows are safe and the file opens again."""


class ReadError(GradebookError):
    """One line, document or span cannot be read. Its text is the quarantine reason."""


class JudgeError(GradebookError):
    """One judge call failed for good. `stage` is stored with the failure (DESIGN.md section 6)."""

    def __init__(self, stage: FailureStage, message: str) -> None:
        super().__init__(message)
        self.stage = stage


class JudgingStoppedError(JudgeError):
    """Auth or billing: every further call would fail too, so judging stops and the rest stays pending."""
