#!/usr/bin/python3
"""What stopping pods costs an API server: with nobody watching, with lastcall, and with clients that each
watch all EndpointSlices of the namespace all the time.

    ./dev e2e cost [--agents N] [--json FILE]

Each of the three gets a control plane of its own and the same pods: N of them in groups of ten, with a
Service for each group and one over all, and one more pod for each group that stays. Then five groups are
stopped one after the other, as rollouts do, and after them all others at once.

Requests are counted in the audit log, for the clients alone. Bytes are the API server's own count of what it
has sent for reads and watches, uncompressed and without TLS, less what it sent with nobody watching. CPU is
user and system time of the API server. A phase lasts equally long for all three.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import binaries
from agent import SERVICE_ACCOUNT, Agent, grant
from controlplane import ControlPlane, user_of
from processes import wait_for
from scene import PORTS, address

HERE = pathlib.Path(__file__).resolve().parent
NAMESPACE = "cost"
GROUP_SIZE = 10
GROUPS_ROLLED = 5
GROUP_SECONDS = 5
GRACE_SECONDS = 300
START_SECONDS, IDLE_SECONDS, ALL_SECONDS = 20, 20, 25
RELEASE_SECONDS_MAX = 120
AGENTS_STARTING_MAX = 50
# What a controller manager does unless told otherwise.
CONTROLLER_QPS = 20
# For what is done to the control plane before anything is measured.
SETUP_THREADS = 8


class Reading(NamedTuple):
    """The API server's own counters, since it was started."""

    at: float
    cpu_seconds: float
    answer_bytes: collections.Counter  # of GETs and LISTs, by resource
    event_bytes: collections.Counter  # of watches, by resource
    watches: int  # open now, by anybody


class Used(NamedTuple):
    """What one phase took."""

    seconds: float
    cpu_seconds: float
    answer_bytes: dict
    event_bytes: dict
    requests: dict  # {"verb resource": how many}, of the clients alone
    watches: int  # open at the end, by anybody

    def sent_bytes(self):
        return sum(self.answer_bytes.values()) + sum(self.event_bytes.values())


class Scene:
    """The pods and Services, on a control plane that runs."""

    def __init__(self, plane, count):
        self.plane = plane
        self.groups = [f"g-{number}" for number in range(-(-count // GROUP_SIZE))]
        names = [(f"web-{number}", self.groups[number // GROUP_SIZE]) for number in range(count)]
        plane.create_namespace(NAMESPACE)
        grant(plane, NAMESPACE)
        plane.create_node("node-a")
        for group in self.groups:
            plane.create_service(NAMESPACE, group, {"group": group}, PORTS)
        plane.create_service(NAMESPACE, "all", {"app": "web"}, PORTS)
        # The controller writes each slice once, when it comes back.
        plane.stop_controller_manager()
        staying = [(f"stays-{group}", group) for group in self.groups]
        numbered = list(enumerate([*names, *staying], start=1))
        with ThreadPoolExecutor(SETUP_THREADS) as pool:
            made = list(pool.map(self._create_pod, numbered))
        self.pods = made[:count]
        plane.start_controller_manager()
        total = count + len(self.groups)
        wait_for(lambda: self._entries("all") == (total, total), 60, "all pods to be in slices")
        wait_for(lambda: self._all_groups() == (total, total), 60, "all groups to be in slices")
        wait_for(lambda: self._legacy_addresses() == 2 * total, 60, "all pods to be in Endpoints")

    def stop(self, *groups):
        """Deletes the pods of these groups in one request, and returns them."""
        self.plane.admin.delete_all("pods", NAMESPACE, f"stays=false,group in ({','.join(groups)})")
        return [pod for pod in self.pods if pod["metadata"]["labels"]["group"] in groups]

    def check_withdrawal(self, stopped):
        """Raises TimeoutError unless so many pods are withdrawn from the slices of both of their Services."""
        total = len(self.pods) + len(self.groups)
        wanted = [(total, total - stopped)] * 2
        wait_for(lambda: [self._entries("all"), self._all_groups()] == wanted, 1, f"{wanted} in the slices")

    def _create_pod(self, numbered):
        number, (name, group) = numbered
        stays = "true" if name.startswith("stays") else "false"
        return self.plane.create_pod(
            NAMESPACE,
            name,
            [address(number)],
            "node-a",
            labels={"app": "web", "group": group, "stays": stays},
            ports=PORTS,
            grace=GRACE_SECONDS,
            spec={"serviceAccountName": SERVICE_ACCOUNT},
        )

    def _entries(self, service):
        """(how many entries, how many of them ready) are in the slices of a Service."""
        return _count(self.plane.endpointslices(NAMESPACE, service))

    def _all_groups(self):
        slices = self.plane.admin.list(
            "discovery.k8s.io/v1/endpointslices", NAMESPACE, "kubernetes.io/service-name!=all"
        )
        return _count(slices)


    def _legacy_addresses(self):
        listed = self.plane.admin.list("endpoints", NAMESPACE)
        subsets = [subset for each in listed for subset in each.get("subsets", [])]
        return sum(len(subset.get("addresses", [])) for subset in subsets)


def _count(slices):
    entries = [entry for each in slices for entry in each["endpoints"] or []]
    return len(entries), sum(entry["conditions"]["ready"] for entry in entries)


# Who watches


class Nobody:
    """What the three have in common."""

    def __init__(self, scene, folder):
        pass

    def begin(self):
        """Returns when all of them are as they will be until something is stopped."""

    def stop(self, pods):
        """These are being deleted. Returns when everybody has heard all of it."""

    def check(self):
        """Ends the program if they did not do what is measured."""

    def close(self):
        pass


class Lastcall(Nobody):
    """An agent for each pod, and a hook for each that stops."""

    def __init__(self, scene, folder):
        with ThreadPoolExecutor(SETUP_THREADS) as pool:
            self._agents = list(pool.map(lambda pod: Agent(scene.plane, pod, folder), scene.pods))

    def begin(self):
        for first in range(0, len(self._agents), AGENTS_STARTING_MAX):
            batch = self._agents[first : first + AGENTS_STARTING_MAX]
            for agent in batch:
                agent.launch()
            for agent in batch:
                agent.event("started", timeout=60)
                agent.learnt()

    def stop(self, pods):
        names = {pod["metadata"]["name"] for pod in pods}
        for hook in [agent.hook() for agent in self._agents if agent.pod["name"] in names]:
            hook.wait(RELEASE_SECONDS_MAX)

    def check(self):
        ends = collections.Counter()
        for agent in self._agents:
            released = [event for event in agent.events() if event.get("phase") == "released"]
            ends[released[0]["hold_end"] if released else "never released"] += 1
        if set(ends) != {"all-gone"}:
            sys.exit(f"error: not every hold was ended by the evidence: {dict(ends)}")

    def close(self):
        for agent in self._agents:
            agent.kill()


class Naive(Nobody):
    """A namespace-wide watch for each pod."""

    def __init__(self, scene, folder):
        def issue(pod):
            return scene.plane.issue_token(NAMESPACE, SERVICE_ACCOUNT, pod=pod)

        tokens = folder / "tokens"
        with ThreadPoolExecutor(SETUP_THREADS) as pool:
            tokens.write_text("\n".join(pool.map(issue, scene.pods)), encoding="ascii")
        command = ["setpriv", "--pdeathsig", "KILL", "--", HERE / "naive_watchers.py"]
        command += ["--server", scene.plane.url.removeprefix("https://"), "--ca-file", scene.plane.ca_file]
        self._command = [*command, "--token-file", tokens, "--namespace", NAMESPACE]
        self._process = None

    def begin(self):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True)
        if self._process.stdout.readline() != "watching\n":
            sys.exit("error: the watchers have ended")

    def stop(self, pods):
        def silent():
            time.sleep(1)
            return self._received()["events"] == 0

        wait_for(lambda: self._received()["events"] > 0, RELEASE_SECONDS_MAX, "the first event")
        wait_for(silent, RELEASE_SECONDS_MAX, "the last event")

    def _received(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        if self._process:
            self._process.kill()
            self._process.wait()


WATCHERS = {"nobody": Nobody, "lastcall": Lastcall, "naive": Naive}


# Measuring


def read(plane):
    metrics = plane.apiserver_metrics()
    return Reading(
        time.monotonic(),
        plane.apiserver_cpu_seconds(),
        _sums(metrics, "apiserver_response_sizes_sum"),
        _sums(metrics, "apiserver_watch_events_sizes_sum"),
        _sums(metrics, "apiserver_longrunning_requests").total(),
    )


def _sums(metrics, name):
    """The samples of a metric, added up for each resource."""
    sums = collections.Counter()
    for labels, value in re.findall(rf"^{name}\{{(.*)\}} (\S+)$", metrics, re.MULTILINE):
        resource_name = re.search(r'(?:^|,)resource="([^"]*)"', labels).group(1)
        sums[resource_name] += int(float(value))
    return sums


@contextlib.contextmanager
def measured(plane, phases, name, seconds):
    """Adds to `phases` what is used inside, until so many seconds have passed."""
    user = user_of(NAMESPACE, SERVICE_ACCOUNT)
    sent = len(plane.requests_by(user))
    before = read(plane)
    yield
    took = time.monotonic() - before.at
    sleep_until(before.at + seconds)
    cpu_seconds = plane.apiserver_cpu_seconds()
    lasted = time.monotonic() - before.at
    after = read(plane)
    requests = plane.requests_by(user)[sent:]
    phases[name] = Used(
        lasted,
        cpu_seconds - before.cpu_seconds,
        dict(after.answer_bytes - before.answer_bytes),
        dict(after.event_bytes - before.event_bytes),
        dict(collections.Counter(f"{request.verb} {request.resource}" for request in requests)),
        after.watches,
    )
    print(f"  {name}: done after {took:.1f} s", file=sys.stderr, flush=True)


def sleep_until(instant):
    time.sleep(max(0, instant - time.monotonic()))


def measure(kind, programs, count):
    """{phase: Used} of one kind of watchers."""
    print(f"{kind}:", file=sys.stderr, flush=True)
    phases = {}
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(programs, CONTROLLER_QPS))
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lastcall-cost-")))
        scene = Scene(plane, count)
        watchers = stack.enter_context(contextlib.closing(WATCHERS[kind](scene, folder)))
        with measured(plane, phases, "start", START_SECONDS):
            watchers.begin()
        with measured(plane, phases, "idle", IDLE_SECONDS):
            pass
        with measured(plane, phases, "rollouts", GROUPS_ROLLED * GROUP_SECONDS):
            begun = time.monotonic()
            for number, group in enumerate(scene.groups[:GROUPS_ROLLED]):
                sleep_until(begun + number * GROUP_SECONDS)
                watchers.stop(scene.stop(group))
        scene.check_withdrawal(GROUPS_ROLLED * GROUP_SIZE)
        with measured(plane, phases, "all", ALL_SECONDS):
            watchers.stop(scene.stop(*scene.groups[GROUPS_ROLLED:]))
        scene.check_withdrawal(count)
        watchers.check()
    return phases


# Telling


def table(results, count):
    """Markdown. What is said of one client is the share of those who do something in that phase: every
    watcher, or the agents of the pods that start or stop."""
    rolled = GROUPS_ROLLED * GROUP_SIZE
    # Title, and how many agents have something to do.
    told = {
        "start": (f"{count} start", count),
        "idle": (f"idle for {IDLE_SECONDS} s", count),
        "rollouts": (f"{rolled} pods stop, {GROUP_SIZE} at a time", rolled),
        "all": (f"{count - rolled} pods stop at once", count - rolled),
    }
    rows = [row("", "", *results), row(*["---"] * (len(results) + 2))]
    for phase, (title, at_work) in told.items():
        unwatched = results["nobody"][phase]
        clients = {"nobody": None, "lastcall": at_work, "naive": count}
        columns = [column(phases[phase], unwatched, clients[kind]) for kind, phases in results.items()]
        for what in columns[0]:
            rows.append(row(title, what, *(each[what] for each in columns)))
            title = ""
    return "\n".join(rows)


def column(used, unwatched, clients):
    """What a phase took, in words, where so many clients took part in it."""
    return {
        "requests of one": said(used.requests, clients),
        "bytes to all, to one": sent(used.sent_bytes() - unwatched.sent_bytes(), clients),
        "watches held open": str(used.watches - unwatched.watches),
        "API server CPU": f"{used.cpu_seconds:.2f} s",
    }


def row(*cells):
    return f"| {' | '.join(cells)} |"


def said(requests, clients):
    return ", ".join(f"{number / clients:.3g} {what}" for what, number in sorted(requests.items())) or "-"


def sent(count, clients):
    return f"{size(count)}, {size(count / clients)}" if count > 0 and clients else "-"


def size(count):
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} B"


def main():
    parser = argparse.ArgumentParser(
        prog="./dev e2e cost", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=500, help="pods, at least 60 (default: 500)")
    parser.add_argument("--json", type=pathlib.Path, help="also write all figures there")
    arguments = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    programs = binaries.ensure(*binaries.CONTROL_PLANE)
    results = {kind: measure(kind, programs, arguments.agents) for kind in WATCHERS}
    print(table(results, arguments.agents))
    if arguments.json:
        figures = {
            kind: {name: used._asdict() for name, used in phases.items()} for kind, phases in results.items()
        }
        text = json.dumps({"agents": arguments.agents, **figures}, indent=2) + "\n"
        arguments.json.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
