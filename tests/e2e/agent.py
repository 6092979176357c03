"""The real agent and hook binaries, run as a pod would run them."""

import json
import os
import pathlib
import subprocess
import time

from processes import wait_for

SERVICE_ACCOUNT = "lastcall"
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "base"
# LASTCALL_BINARIES names the build tree.
PATHS = {"lastcall": "agent/cli/lastcall", "lastcall-hook": "agent/hook/lastcall-hook"}


def binary(name):
    return pathlib.Path(os.environ["LASTCALL_BINARIES"]) / PATHS[name]


def grant(control_plane, namespace):
    """Creates the ServiceAccount, Role and RoleBinding exactly as deploy/ ships them."""
    for name in ("serviceaccount.yaml", "role.yaml", "rolebinding.yaml"):
        control_plane.apply_manifest(DEPLOY / name, namespace)


class Agent:
    """`lastcall agent` beside one made-up pod; a context manager that never leaves it behind.

    Its events are the JSON lines of its standard error, each with `received`, our monotonic time.
    """

    def __init__(self, control_plane, pod, folder, **settings):
        self.pod = pod["metadata"]
        self.folder = folder
        self.socket = folder / "agent.sock"
        self._log = folder / "agent.log"
        token = folder / "token"
        token.write_text(
            control_plane.issue_token(self.pod["namespace"], SERVICE_ACCOUNT, pod=pod), encoding="utf-8"
        )
        self._environment = {
            "LASTCALL_POD_NAME": self.pod["name"],
            "LASTCALL_POD_NAMESPACE": self.pod["namespace"],
            "LASTCALL_POD_UID": self.pod["uid"],
            "LASTCALL_KUBERNETES_SERVER": control_plane.url,
            "LASTCALL_KUBERNETES_TOKEN_FILE": str(token),
            "LASTCALL_KUBERNETES_CA_FILE": str(control_plane.ca_file),
            "LASTCALL_LISTEN_POD": "127.0.0.1:0",
            "LASTCALL_LISTEN_LOCAL": f"unix:{self.socket}",
            **{f"LASTCALL_{key.upper()}": value for key, value in settings.items()},
        }
        self._process = None

    def __enter__(self):
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", binary("lastcall"), "agent"],
            env=self._environment,
            stderr=self._log.open("ab"),
        )
        self.event("started")
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def events(self):
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def event(self, name, timeout=15, **fields):
        """Waits for an event of that name with these fields, and returns it."""

        def found():
            assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
            for event in self.events():
                if event["event"] == name and fields.items() <= event.items():
                    return event
            return None

        return wait_for(found, timeout, f"the event {name} {fields}; log:\n{self._log.read_text()}")

    def learnt(self):
        """Waits until the agent has read its pod and its Services, as it does once after its start."""
        wait_for(lambda: "services" in self.metrics(), what="the agent to learn its Services")
        return self

    def request(self, method, path, *, local=True, timeout=5):
        """curl's output: the status line is checked, the body returned."""
        where = ["--unix-socket", str(self.socket), f"http://agent{path}"]
        if not local:
            where = [f"http://{self.event('started')['listen_pod']}{path}"]
        command = ["curl", "-sS", "--fail-with-body", "-X", method, "-m", str(timeout), *where]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout

    def status(self):
        return json.loads(self.request("GET", "/status"))

    def metrics(self):
        return self.request("GET", "/metrics")

    def hook(self):
        """Starts `lastcall-hook wait` as a preStop exec hook would."""
        return Hook([binary("lastcall-hook"), "wait", "--agent", f"unix:{self.socket}"])

    def http_hook(self):
        """Starts the request a preStop httpGet hook makes."""
        url = f"http://{self.event('started')['listen_pod']}/hold"
        return Hook(["curl", "-sS", "--fail", "-m", "120", url])


class Hook:
    """A preStop hook under way."""

    def __init__(self, command):
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command], stdout=subprocess.PIPE, text=True
        )

    def waiting(self):
        return self._process.poll() is None

    def wait(self, timeout):
        """Returns how long the hook took, in seconds; it must have succeeded."""
        assert self._process.wait(timeout) == 0
        return time.monotonic() - self._started

    def output(self):
        return self._process.stdout.read()
