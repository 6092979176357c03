"""Fixtures: one control plane and two nodes for the session, a namespace of its own for each test."""

import secrets
import signal

import pytest

import binaries
from agent import DEPLOY, SERVICE_ACCOUNT, Agent, grant
from api import JSON_PATCH
from controlplane import ControlPlane
from processes import wait_for
from scene import LABELS, PORTS, SETTLE_SECONDS


def pytest_configure():
    # A run that is told to end tears its servers down, as it does on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def programs():
    """Paths of the executables, built first if they are not in the cache."""
    return binaries.ensure(*binaries.CONTROL_PLANE)


@pytest.fixture(scope="session")
def control_plane(programs):
    """A test that stops a part of it also uses `namespace`, which restores it."""
    with ControlPlane(programs) as plane:
        yield plane


@pytest.fixture(scope="session")
def node(control_plane):
    """The name of a Node object for pods to be bound to."""
    return control_plane.create_node("node-a")["metadata"]["name"]


@pytest.fixture(scope="session")
def other_node(control_plane):
    """The name of another one."""
    return control_plane.create_node("node-b")["metadata"]["name"]


@pytest.fixture
def namespace(control_plane):
    """The name of an empty namespace; its pods are gone after the test and all servers run again."""
    name = control_plane.create_namespace(f"e2e-{secrets.token_hex(4)}")
    yield name
    control_plane.restore()
    control_plane.delete_namespace(name)


@pytest.fixture
def pods(control_plane, namespace, node):
    """Makes pods of the Service's kind; each is waited for until the slices of these services, a map of
    Service names to addresses, list it as ready.

    They run as the ServiceAccount with exactly the Role of deploy/.
    """
    grant(control_plane, namespace)

    def make(name, ips, services=None, *, grace=60, labels=LABELS, ports=PORTS, spec=None, **more):
        pod = control_plane.create_pod(
            namespace,
            name,
            ips,
            more.pop("node", node),
            labels=labels,
            ports=ports,
            grace=grace,
            spec={"serviceAccountName": SERVICE_ACCOUNT, **(spec or {})},
            **more,
        )
        for service, expected in (services or {}).items():
            for ip in expected:
                wait_for(
                    lambda s=service, i=ip: control_plane.is_ready(namespace, s, i),
                    what=f"{ip} to be ready in {service}",
                )
        return pod

    return make


@pytest.fixture
def node_reader(control_plane, namespace):
    """Lets the agents of the namespace read Nodes, exactly as deploy/ ships it."""
    made = [
        *control_plane.apply_manifest(DEPLOY / "node-reader" / "clusterrole.yaml", namespace),
        *control_plane.apply_manifest(DEPLOY / "node-reader" / "clusterrolebinding.yaml", namespace),
    ]
    yield
    control_plane.restore()
    for each in made:
        control_plane.delete_object(each)


@pytest.fixture
def endpoints_reader(control_plane, namespace):
    """Lets the agents of the namespace read legacy Endpoints, which the Role of deploy/ does not."""
    rule = {"apiGroups": [""], "resources": ["endpoints"], "verbs": ["list", "watch"]}
    control_plane.admin.patch(
        "rbac.authorization.k8s.io/v1/roles",
        "lastcall",
        [{"op": "add", "path": "/rules/-", "value": rule}],
        namespace,
        content_type=JSON_PATCH,
    )


@pytest.fixture
def start_agent(control_plane, namespace, tmp_path):
    """Runs the agent of a pod, with a short settle unless told otherwise; with `granted=False` its
    RoleBinding is taken away first."""
    running = []

    def start(pod, granted=True, settle=f"{SETTLE_SECONDS}s", **settings):
        if not granted:
            control_plane.admin.delete("rbac.authorization.k8s.io/v1/rolebindings", "lastcall", namespace)
        agent = Agent(control_plane, pod, tmp_path, settle=settle, **settings)
        running.append(agent)
        agent.start()
        return agent

    yield start
    for agent in running:
        agent.kill()
        # Shown when the test has failed.
        print(f"log of {agent.pod['name']}:\n{agent.log()}")
