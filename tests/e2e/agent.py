"""The real agent and hook binaries, run as a pod would run them."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from processes import wait_for

SERVICE_ACCOUNT = "lastcall"
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
# LASTCALL_BINARIES names the build tree.
PATHS = {"lastcall": "agent/cli/lastcall", "lastcall-hook": "agent/hook/lastcall-hook"}


def binary(name):
    return pathlib.Path(os.environ["LASTCALL_BINARIES"]) / PATHS[name]


def grant(control_plane, namespace):
    """Creates the ServiceAccount, Role and RoleBinding exactly as deploy/ ships them."""
    for name in ("serviceaccount.yaml", "role.yaml", "rolebinding.yaml"):
        control_plane.apply_manifest(DEPLOY / "base" / name, namespace)


class Agent:
    """`lastcall agent` beside one made-up pod; a context manager that never leaves it behind.

    It can be ended and started again, as a kubelet restarts a container. Its events are the JSON lines
    that it has written to its standard error since it was last started.
    """

    def __init__(self, control_plane, pod, folder, **settings):
        """`settings` are keys of the configuration, with _ for . and -; those that are None are left out."""
        self.pod = pod["metadata"]
        self._folder = folder / self.pod["name"]
        self._folder.mkdir()
        self.socket = self._folder / "agent.sock"
        self.token_file = self._folder / "token"
        self._log = self._folder / "agent.log"
        self._log_start = 0
        self.token_file.write_text(
            control_plane.issue_token(self.pod["namespace"], SERVICE_ACCOUNT, pod=pod), encoding="utf-8"
        )
        given = {key: value for key, value in settings.items() if value is not None}
        self._environment = {
            "LASTCALL_POD_NAME": self.pod["name"],
            "LASTCALL_POD_NAMESPACE": self.pod["namespace"],
            "LASTCALL_POD_UID": self.pod["uid"],
            "LASTCALL_KUBERNETES_SERVER": control_plane.url,
            "LASTCALL_KUBERNETES_TOKEN_FILE": str(self.token_file),
            "LASTCALL_KUBERNETES_CA_FILE": str(control_plane.ca_file),
            "LASTCALL_LISTEN_POD": "127.0.0.1:0",
            "LASTCALL_LISTEN_LOCAL": f"unix:{self.socket}",
            **{f"LASTCALL_{key.upper()}": value for key, value in given.items()},
        }
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        """Returns when the agent serves. Requires: not running."""
        self.launch()
        self.event("started")

    def launch(self):
        """As start(), without waiting."""
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", binary("lastcall"), "agent"],
                env=self._environment,
                stderr=log,
            )

    def kill(self):
        """Ends the agent as a crash would. No-op if it is not running."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def terminate(self):
        """What the kubelet does to stop the agent's container."""
        self._process.send_signal(signal.SIGTERM)

    def running(self):
        return self._process.poll() is None

    def wait(self, timeout):
        """Waits until the agent has ended by itself, and returns its exit code."""
        return self._process.wait(timeout)

    def log(self):
        """What the agent has written since it was started."""
        return self._log.read_bytes()[self._log_start :].decode()

    def events(self):
        lines = self.log().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def event(self, name, timeout=15, **fields):
        """Waits for an event of that name with these fields, and returns it."""

        def found():
            running = self.running()
            for event in self.events():
                if event["event"] == name and fields.items() <= event.items():
                    return event
            assert running, f"the agent has ended without the event {name}; log:\n{self.log()}"
            return None

        try:
            return wait_for(found, timeout, f"the event {name} {fields}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; log:\n{self.log()}") from None

    def learnt(self):
        """Waits until the agent has read its pod and its Services, as it does once after its start."""

        listed = ("list", "services", "200")
        wait_for(lambda: listed in self.requests_sent(), what="the agent to learn its Services")
        return self

    def requests_sent(self):
        """{(verb, resource, status code): count} of the requests that have been answered."""
        pattern = re.compile(r"^lastcall_api_requests_total\{(.*)\} (\d+)$", re.MULTILINE)
        counts = {}
        for labels, count in pattern.findall(self.metrics()):
            label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            counts[label["verb"], label["resource"], label["code"]] = int(count)
        return counts

    def request(self, method, path, *, local=True, timeout=5):
        """curl's output: the status line is checked, the body returned."""
        where = ["--unix-socket", str(self.socket), f"http://agent{path}"]
        if not local:
            where = [f"http://{self.event('started')['listen_pod']}{path}"]
        command = ["curl", "-sS", "--fail-with-body", "-X", method, "-m", str(timeout), *where]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout

    def status(self):
        return json.loads(self.request("GET", "/status"))

    def consumers(self):
        """{"kind name": what /status says of the consumer}; names are without the pod's namespace."""
        namespace = self.pod["namespace"] + "/"
        return {
            f"{consumer['kind']} {consumer['name'].removeprefix(namespace)}": consumer
            for consumer in self.status()["consumers"]
        }

    def metrics(self):
        return self.request("GET", "/metrics")

    def memory_peak_kib(self):
        """The most memory that was ever resident, libraries included."""
        return self._memory_kib("VmHWM")

    def memory_private_kib(self):
        """The resident memory that is the agent's alone."""
        return self._memory_kib("RssAnon")

    def _memory_kib(self, field):
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE).group(1))

    def hook(self, *options):
        """Starts `lastcall-hook wait` as a preStop exec hook would."""
        return Hook([binary("lastcall-hook"), "wait", "--agent", f"unix:{self.socket}", *options])

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

    def kill(self):
        self._process.kill()
        self._process.wait()
