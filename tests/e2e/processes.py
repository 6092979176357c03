"""Server processes that a test starts, waits for and never leaves behind."""

import contextlib
import os
import signal
import socket
import subprocess
import time

LOG_TAIL_BYTES = 3000
KILL_SECONDS_MAX = 10
POLL_SECONDS = 0.05


class ProcessError(Exception):
    """A server ended although nobody stopped it; the message holds the end of its log."""


def wait_for(predicate, timeout=15.0, what="the condition"):
    """Polls until `predicate()` is truthy and returns that value; TimeoutError after `timeout` seconds.

    Exceptions of the predicate are the caller's: they end the wait.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(f"waited {timeout:g} s for {what}; last value: {value!r}")
        time.sleep(POLL_SECONDS)


class ReservedPort:
    """A free TCP port on 127.0.0.1 that stays ours from the choice until close().

    The socket is bound, never listening, so connections are refused until a server listens there. The
    server must bind with SO_REUSEPORT. Holding the port also keeps the kernel from lending it to an
    outgoing connection while the server is stopped, which could then even connect to itself.
    """

    def __init__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number = self._socket.getsockname()[1]

    def close(self):
        self._socket.close()


class Process:
    """One server in a process group of its own, which can be stopped and started again.

    All output is appended to `log`. The kernel kills the server when the test process dies without
    cleaning up.
    """

    def __init__(self, name, command, log):
        self.name = name
        self._command = ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)]
        self._log = log
        self._child = None

    def start(self):
        """Requires: not running, and a calling thread that outlives the server, which dies with it."""
        with open(self._log, "ab") as output:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def running(self):
        return self._child is not None and self._child.poll() is None

    def cpu_seconds(self):
        """User and system time since the start. Requires: running."""
        with open(f"/proc/{self._child.pid}/stat", encoding="ascii") as stat:
            # The name, in parentheses, may hold anything.
            fields = stat.read().rpartition(")")[2].split()
        user, system = int(fields[11]), int(fields[12])
        return (user + system) / os.sysconf("SC_CLK_TCK")

    def require_running(self):
        """Raises ProcessError if the server has ended."""
        if not self.running():
            raise ProcessError(f"{self.name} is not running; the end of {self._log}:\n{self._log_tail()}")

    def stop(self, timeout=10.0):
        """SIGTERM, and SIGKILL after `timeout` seconds. No-op if it is not running."""
        if self._child is None:
            return
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout)
        self.kill()

    def kill(self):
        """SIGKILL to the whole process group. No-op if it is not running."""
        if self._child is None:
            return
        self._signal(signal.SIGKILL)
        self._child.wait(KILL_SECONDS_MAX)
        self._child = None

    def _signal(self, number):
        # The whole group may have ended by itself.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)

    def _log_tail(self):
        with open(self._log, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - LOG_TAIL_BYTES))
            return log.read().decode(errors="replace")
