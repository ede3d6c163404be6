from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

from grader.capture.limits import CaptureLimits
from grader.capture.writer import Line, LineWriter, append_line


def _line(path: Path, text: str) -> Line:
    return Line(path=path, content=lambda lost: f"{text} lost={lost}\n".encode(), num_bytes=len(text))


def _writer(path: Path, **limits: int) -> LineWriter:
    return LineWriter(CaptureLimits(**limits), loss_line=lambda _: _line(path, "end"))


def test_lines_are_written_in_order_and_folders_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.jsonl"
    writer = _writer(path)
    for number in range(100):
        writer.put(_line(path, str(number)))
    assert writer.flush(10)
    writer.close(10)
    assert path.read_text().splitlines() == [f"{number} lost=0" for number in range(100)]
    assert writer.stats().lines_written == 100


def test_a_path_that_cannot_be_written_is_tried_again_until_it_can(tmp_path: Path) -> None:
    blocker = tmp_path / "folder"
    blocker.write_text("a file where a folder is needed")
    path = blocker / "trace.jsonl"
    writer = _writer(path)
    writer.put(_line(path, "kept"))
    assert not writer.flush(10)  # at once: waiting would not help
    assert writer.stats().lines_waiting == 1
    assert "File exists" in str(writer.stats().last_error)
    blocker.unlink()
    writer.close(10)
    assert path.read_text() == "kept lost=0\n"
    assert writer.stats().lines_lost == 0


def test_a_path_that_never_can_be_written_ends_as_a_counted_loss(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    path = tmp_path / "folder" / "trace.jsonl"
    writer = _writer(path, max_queued_lines=3)
    for number in range(5):
        writer.put(_line(path, str(number)))
    writer.close(10)
    stats = writer.stats()
    assert (stats.lines_written, stats.lines_lost, stats.lines_waiting) == (0, 5, 0)


def test_a_full_disk_loses_nothing_that_the_queue_can_hold() -> None:
    writer = _writer(Path("/dev/full"))
    writer.put(_line(Path("/dev/full"), "x"))
    assert not writer.flush(10)
    assert "No space left" in str(writer.stats().last_error)
    writer.close(10)
    assert writer.stats().lines_lost == 1


def test_a_disk_that_hangs_makes_nobody_wait_and_the_loss_is_written_down(tmp_path: Path) -> None:
    pipe = tmp_path / "slow"
    os.mkfifo(pipe)
    writer = _writer(pipe, max_queued_lines=2)
    for number in range(5):  # opening the pipe blocks until somebody reads
        writer.put(_line(pipe, str(number)))
    assert not writer.flush(0.05)
    assert writer.stats().lines_lost == 3
    received: list[str] = []

    def read_both() -> None:
        while len(received) < 2:  # each line opens the pipe anew
            with pipe.open() as reader:
                received.extend(reader.read().splitlines())

    reader = threading.Thread(target=read_both, daemon=True)
    reader.start()
    assert writer.flush(10)
    reader.join(10)
    assert received in (["0 lost=3", "1 lost=0"], ["0 lost=0", "1 lost=3"])
    writer.close(10)


def test_losses_that_no_line_told_end_in_a_line_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writer = _writer(path, max_queued_bytes=10)
    writer.put(_line(path, "first"))
    assert writer.flush(10)
    writer.put(_line(path, "much too long"))
    writer.close(10)
    assert path.read_text().splitlines() == ["first lost=0", "end lost=1"]


def test_a_torn_last_line_gets_its_line_break(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b'{"whole": 1}\n{"torn": ')
    append_line(path, b'{"next": 2}\n')
    append_line(path, b'{"after": 3}\n')
    assert path.read_bytes() == b'{"whole": 1}\n{"torn": \n{"next": 2}\n{"after": 3}\n'


def test_a_disk_that_fills_up_inside_a_line_spoils_no_other_line(tmp_path: Path) -> None:
    """A file size limit makes the kernel take a part of a line, as a full disk does."""
    path = tmp_path / "trace.jsonl"
    script = f"""
        import resource
        from pathlib import Path
        from grader.capture.writer import append_line
        path = Path({str(path)!r})
        append_line(path, b"first" + b"." * 100 + b"\\n")
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (150, hard))
        try:
            append_line(path, b"second" + b"." * 100 + b"\\n")
        except OSError:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            append_line(path, b"second" + b"." * 100 + b"\\n")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
    lines = path.read_bytes().splitlines()
    assert [line[:6] for line in lines] == [b"first.", b"second", b"second"]
    assert [len(line) for line in lines] == [105, 44, 106]


def _append_many(path: Path, worker: int) -> None:
    for number in range(200):
        append_line(path, json.dumps({"worker": worker, "number": number, "text": "x" * 20_000}).encode() + b"\n")


def test_several_processes_share_a_file_without_mixing_lines(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(path, worker)) for worker in range(4)]
    for process in workers:
        process.start()
    for process in workers:
        process.join(60)
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]  # a blank line does no harm
    assert len(lines) == 800
    assert {(line["worker"], line["number"]) for line in lines} == {
        (worker, number) for worker in range(4) for number in range(200)
    }
