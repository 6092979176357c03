"""What the other end-to-end tests rely on: the control plane behaves as Kubernetes documents."""

import pathlib
import subprocess
import tempfile

import pytest

from api import ENDPOINT_SLICES, ApiError, path
from controlplane import ControlPlane, Request, user_of
from processes import ProcessError, wait_for
from scene import LABELS, PORTS, RECONNECT_SECONDS

IPV4, IPV6 = "10.1.0.1", "fd00:1::1"

GRANTS = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: elsewhere}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: agent}
rules:
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: agent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: agent}
subjects:
- {kind: ServiceAccount, name: agent, namespace: elsewhere}
"""

NEW_KIND = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: probes.e2e.lastcall.invalid}
spec:
  group: e2e.lastcall.invalid
  scope: Namespaced
  names: {kind: Probe, plural: probes}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
---
apiVersion: e2e.lastcall.invalid/v1
kind: Probe
metadata: {name: first}
"""


@pytest.fixture
def service(control_plane, namespace):
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec={"ipFamilyPolicy": "RequireDualStack"})
    return "web"


@pytest.fixture
def pod(control_plane, namespace, service, node):
    """A pod that is ready in both address families' slices."""
    pod = control_plane.create_pod(namespace, "web-1", [IPV4, IPV6], node, labels=LABELS, ports=PORTS)
    for ip in (IPV4, IPV6):
        await_conditions(control_plane, namespace, service, ip, ready=True, serving=True, terminating=False)
    return pod["metadata"]["name"]


def await_conditions(control_plane, namespace, service, ip, timeout=15, **conditions):
    """Waits until the address is in exactly one slice entry, with these conditions."""

    def as_wanted():
        entries = control_plane.endpoints(namespace, service, ip)
        return [entry["conditions"] for entry in entries] == [conditions]

    wait_for(as_wanted, timeout, f"{ip} with {conditions}")


def await_absence(control_plane, namespace, service, ip):
    wait_for(lambda: not control_plane.endpoints(namespace, service, ip), what=f"{ip} to leave")


def test_a_deleted_pod_is_withdrawn_but_keeps_its_address(control_plane, namespace, service, pod):
    deleted = control_plane.delete_pod(namespace, pod)
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 30
    for ip in (IPV4, IPV6):
        await_conditions(control_plane, namespace, service, ip, ready=False, serving=True, terminating=True)


def test_a_finished_pod_leaves_its_slices(control_plane, namespace, service, pod):
    control_plane.delete_pod(namespace, pod)
    control_plane.finish_pod(namespace, pod)
    for ip in (IPV4, IPV6):
        await_absence(control_plane, namespace, service, ip)


def test_readiness_decides_serving_and_ready(control_plane, namespace, service, pod):
    control_plane.set_ready(namespace, pod, False)
    await_conditions(control_plane, namespace, service, IPV4, ready=False, serving=False, terminating=False)
    control_plane.set_ready(namespace, pod, True)
    await_conditions(control_plane, namespace, service, IPV4, ready=True, serving=True, terminating=False)


def test_a_pod_that_is_no_longer_selected_leaves_its_slices(control_plane, namespace, service, pod):
    control_plane.admin.patch("pods", pod, {"metadata": {"labels": {"app": None}}}, namespace)
    await_absence(control_plane, namespace, service, IPV4)


@pytest.mark.parametrize("end", [ControlPlane.stop_apiserver, ControlPlane.kill_apiserver])
def test_an_api_server_that_comes_back_has_kept_everything(control_plane, namespace, service, pod, end):
    before = control_plane.admin.get("pods", pod, namespace)
    end(control_plane)
    with pytest.raises(ConnectionRefusedError):
        control_plane.admin.get("pods", pod, namespace)
    control_plane.start_apiserver()
    assert control_plane.admin.get("pods", pod, namespace) == before
    control_plane.delete_pod(namespace, pod)
    gone = {"ready": False, "serving": True, "terminating": True}
    await_conditions(control_plane, namespace, service, IPV4, timeout=RECONNECT_SECONDS, **gone)


def test_slices_stand_still_without_the_controller_manager(control_plane, namespace, service, pod):
    control_plane.stop_controller_manager()
    before = control_plane.endpointslices(namespace, service)
    control_plane.delete_pod(namespace, pod)
    with pytest.raises(TimeoutError):
        wait_for(lambda: control_plane.endpointslices(namespace, service) != before, timeout=1)
    control_plane.start_controller_manager()
    await_conditions(control_plane, namespace, service, IPV4, ready=False, serving=True, terminating=True)


@pytest.fixture
def agent(control_plane, namespace, tmp_path):
    """A client that acts as a service account which may list slices in its namespace, and no more."""
    manifest = tmp_path / "grants.yaml"
    manifest.write_text(GRANTS, encoding="utf-8")
    control_plane.apply_manifest(manifest, namespace)
    return control_plane.client(control_plane.issue_token(namespace, "agent"))


def test_a_token_allows_what_is_granted_and_nothing_else(agent, namespace):
    assert agent.list(ENDPOINT_SLICES, namespace) == []
    for resource, where in ((ENDPOINT_SLICES, "default"), ("pods", namespace)):
        with pytest.raises(ApiError) as denied:
            agent.list(resource, where)
        assert denied.value.status == 403


def test_a_token_can_be_bound_to_a_pod(control_plane, namespace, node):
    pod = control_plane.create_pod(namespace, "bound", [IPV4], node)
    token = control_plane.issue_token(namespace, "default", pod=pod)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = control_plane.client(token).create("authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["extra"]["authentication.kubernetes.io/pod-name"] == ["bound"]


def test_a_manifest_can_define_the_kind_it_uses(control_plane, namespace, tmp_path):
    manifest = tmp_path / "probes.yaml"
    manifest.write_text(NEW_KIND, encoding="utf-8")
    _, first = control_plane.apply_manifest(manifest, namespace)
    _, second = control_plane.apply_manifest(manifest, namespace)
    assert second["metadata"]["namespace"] == namespace
    assert second["metadata"]["uid"] == first["metadata"]["uid"]


def test_requests_are_recorded_per_user(control_plane, agent, namespace):
    agent.list(ENDPOINT_SLICES, namespace)
    with pytest.raises(ApiError):
        agent.get("pods", "web-1", namespace, subresource="log")
    assert control_plane.requests_by(user_of(namespace, "agent")) == [
        Request("list", "endpointslices", path(ENDPOINT_SLICES, namespace)),
        Request("get", "pods/log", path("pods", namespace, "web-1", "log")),
    ]


def test_a_failed_start_leaves_nothing_behind(programs, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("LASTCALL_E2E_LOGS", raising=False)
    with pytest.raises(ProcessError):
        with ControlPlane({**programs, "kube-apiserver": pathlib.Path("/bin/false")}):
            pass
    assert list(tmp_path.iterdir()) == []
    assert subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False).stdout == b""
