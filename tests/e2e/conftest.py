"""Fixtures: one control plane and two nodes for the session, a namespace of its own for each test."""

import secrets
import signal

import pytest

import binaries
from agent import SERVICE_ACCOUNT, Agent, grant
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
def allow(control_plane, namespace):
    """Lets the agents of the namespace do more than the Role of deploy/ says."""
    rbac = "rbac.authorization.k8s.io/v1"
    made = []

    def grant_more(resource, verbs, scope="Role"):
        """`scope` is Role, or ClusterRole for what belongs to no namespace."""
        where = namespace if scope == "Role" else ""
        name = f"{namespace}-{resource}"
        rule = {"apiGroups": [""], "resources": [resource], "verbs": verbs}
        role = {"metadata": {"name": name}, "rules": [rule]}
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": scope, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": namespace}],
        }
        for kind, body in ((f"{scope.lower()}s", role), (f"{scope.lower()}bindings", binding)):
            control_plane.admin.create(f"{rbac}/{kind}", body, where)
            made.append((f"{rbac}/{kind}", name, where))

    yield grant_more
    control_plane.restore()
    for resource, name, where in made:
        control_plane.admin.delete(resource, name, where)


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
