"""The Streamlit app as a process of its own, bound to this machine."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

from grader.errors import GradebookError, UsageError
from grader.settings import CONFIG_VARIABLE, SETTINGS_FILE

HOST = "127.0.0.1"
DEFAULT_PORT = 8501
STOP_SECONDS = 10.0


def start_app(config: Path | None, *, port: int = DEFAULT_PORT, headless: bool = False) -> subprocess.Popen[bytes]:
    """Starts the app on the workspace of `config` (None: as `load_settings` finds it) and returns its process.

    `headless`: opens no browser. Raises UsageError when the port is taken.
    """
    _check_port(port)
    script = _app_script()
    path = config or Path(os.environ.get(CONFIG_VARIABLE) or SETTINGS_FILE)
    command = [
        sys.executable, "-m", "streamlit", "run", str(script),
        "--server.address", HOST,
        "--server.port", str(port),
        "--server.headless", "true" if headless else "false",
        "--browser.gatherUsageStats", "false",
    ]  # fmt: skip
    # Streamlit reads the theme from .streamlit/ in the current folder.
    return subprocess.Popen(
        command, cwd=script.parent.parent, env={**os.environ, CONFIG_VARIABLE: str(path.absolute())}
    )


def stop_app(app: subprocess.Popen[bytes]) -> None:
    """Ends the app, by force if it does not go within STOP_SECONDS."""
    app.terminate()
    try:
        app.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        app.kill()
        app.wait()


def run_app(config: Path | None, *, port: int, headless: bool) -> int:
    """Runs the app until it ends or Ctrl-C; returns an exit code."""
    app = start_app(config, port=port, headless=headless)
    try:
        return app.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        stop_app(app)


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise UsageError(f"port {port} is taken: give another one with --port") from None


def _app_script() -> Path:
    found = importlib.util.find_spec("dashboard")
    folders = list(found.submodule_search_locations or ()) if found else []
    for folder in folders:
        script = Path(folder) / "app.py"
        if script.exists():
            return script
    raise GradebookError("the dashboard is not installed: install Gradebook from its folder with 'make setup'")
