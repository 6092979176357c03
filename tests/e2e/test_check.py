"""`lastcall check` against a real API server, with the permissions that deploy/ grants or fewer."""

import json
import subprocess

import pytest

from agent import SERVICE_ACCOUNT, binary, grant
from processes import wait_for

LABELS = {"app": "web"}
PORTS = {"http": 8080}
HOOK = {"preStop": {"httpGet": {"path": "/hold", "port": 19100}}}


@pytest.fixture
def pod(control_plane, namespace, node):
    """A ready pod of the Service web, with a hook and a grace period that has room for all."""
    grant(control_plane, namespace)
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    made = control_plane.create_pod(
        namespace,
        "web-1",
        ["10.1.0.1"],
        node,
        labels=LABELS,
        ports=PORTS,
        grace=60,
        spec={"serviceAccountName": SERVICE_ACCOUNT, "containers": [container()]},
    )
    wait_for(lambda: control_plane.endpoints(namespace, "web", "10.1.0.1"), what="its endpoint")
    return made


def container():
    ports = [{"name": name, "containerPort": number} for name, number in PORTS.items()]
    return {"name": "app", "image": "none", "ports": ports, "lifecycle": HOOK}


@pytest.fixture
def check(control_plane, namespace, tmp_path):
    """Runs the check with flags alone, as somebody outside the cluster would."""


    def run(pod, *arguments):
        token = tmp_path / "token"
        token.write_text(control_plane.issue_token(namespace, SERVICE_ACCOUNT), encoding="utf-8")
        command = [binary("lastcall"), "check", "-n", namespace, "--pod", pod["metadata"]["name"]]
        command += ["--server", control_plane.url, "--ca-file", str(control_plane.ca_file)]
        command += ["--token-file", str(token), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, env={}, check=False)

    return run


def test_the_role_of_deploy_is_enough(pod, check):
    done = check(pod, "--output", "json")
    result = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    # Nodes are cluster-wide: the one permission that deploy/base does not grant.
    assert [finding["severity"] for finding in result["findings"]] == ["note"]
    assert "nodes" in result["findings"][0]["text"]
    (consumer,) = result["consumers"]
    assert consumer["kind"] == "endpointslices" and consumer["presence"] == "routable"


def test_every_rule_of_the_role_is_missed_by_name(control_plane, namespace, pod, check):
    role = control_plane.admin.get("rbac.authorization.k8s.io/v1/roles", "lastcall", namespace)
    for at, rule in enumerate(role["rules"]):
        for verb in rule["verbs"]:
            rules = [dict(one) for one in role["rules"]]
            rules[at] = {**rule, "verbs": [other for other in rule["verbs"] if other != verb] or ["patch"]}
            expected = f"resources: [{rule['resources'][0]}], verbs: [{verb}]}} in namespace {namespace}"

            def named():
                control_plane.admin.patch(
                    "rbac.authorization.k8s.io/v1/roles", "lastcall", {"rules": rules}, namespace
                )
                done = check(pod)
                return done if expected in done.stdout else None

            done = wait_for(named, what=expected)
            assert done.returncode == (2 if "fatal: a rule is missing" in done.stdout else 1)
            assert "a rule is missing" in done.stdout


def test_a_short_grace_period_and_a_bad_annotation_are_warnings(control_plane, namespace, pod, check):
    control_plane.admin.patch(
        "services", "web", {"metadata": {"annotations": {"lastcall/settle": "soon"}}}, namespace
    )
    control_plane.admin.patch(
        "services", "web", {"metadata": {"annotations": {"lastcall/blind": "2m"}}}, namespace
    )
    done = check(pod)
    assert done.returncode == 1, done.stdout
    assert f"Service {namespace}/web: lastcall/settle: 'soon', expected a duration" in done.stdout
    assert "blind needs 2m; 130s would be enough" in done.stdout


def test_a_pod_that_is_not_there_cannot_be_checked(pod, check):
    done = check({"metadata": {"name": "web-2"}})
    assert done.returncode == 2
    assert 'pods "web-2" not found' in done.stdout
