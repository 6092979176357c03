"""The agent holds a real terminating pod until its endpoint is withdrawn, and then releases it."""

import time

from agent import SERVICE_ACCOUNT
from controlplane import user_of
from scene import LABELS, PORTS, RECONNECT_SECONDS, SETTLE_SECONDS

IPV4, IPV6 = "10.1.0.1", "fd00:1::1"


def test_a_deleted_pod_is_held_until_the_controller_flips_its_slice(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [IPV4], {"web": [IPV4]})
    pods("web-2", ["10.1.0.2"], {"web": ["10.1.0.2"]})
    agent = start_agent(pod).learnt()
    at_start = len(control_plane.requests_by(user_of(namespace, SERVICE_ACCOUNT)))
    assert at_start <= 4

    control_plane.stop_controller_manager()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.http_hook()
    agent.event("presence", consumer=f"{namespace}/web", to="routable")
    time.sleep(2)
    assert hook.waiting(), "the slice still says ready"

    flipped = time.monotonic()
    control_plane.start_controller_manager()
    gone = agent.event("presence", timeout=RECONNECT_SECONDS, to="withdrawn")
    assert "ready=false" in gone["why"]
    hook.wait(10)
    assert time.monotonic() - flipped >= SETTLE_SECONDS
    released = agent.event("phase", phase="released")
    assert released["hold_end"] == "all-gone"
    print(f"withdrawn at {gone['time']}, released at {released['time']}")

    held = control_plane.requests_by(user_of(namespace, SERVICE_ACCOUNT))[at_start:]
    by_kind = [(request.verb, request.resource) for request in held]
    # 1 pod GET, 1 LIST and 1 WATCH of the slices, 1 LIST of the Services, plus the last LIST.
    assert by_kind.count(("get", "pods")) == 1
    assert by_kind.count(("list", "services")) == 1
    assert 1 <= by_kind.count(("list", "endpointslices")) <= 2
    assert 1 <= by_kind.count(("watch", "endpointslices")) <= 2


def test_three_ports_and_two_families_are_all_waited_for(control_plane, namespace, pods, start_agent):
    ports = {"http": 8080, "grpc": 9090, "admin": 9901}
    control_plane.create_service(
        namespace, "web", LABELS, ports, spec={"ipFamilyPolicy": "RequireDualStack"}
    )
    pod = pods("web-1", [IPV4, IPV6], {"web": [IPV4, IPV6]}, ports=ports)
    pods("web-2", ["10.1.0.2", "fd00:1::2"], {"web": ["10.1.0.2", "fd00:1::2"]}, ports=ports)
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    hook.wait(15)
    for ip in (IPV4, IPV6):
        assert control_plane.is_withdrawn(namespace, "web", ip)
    assert agent.status()["hold_end"] == "all-gone"


def test_the_last_endpoint_is_held_until_its_replacement_is_ready(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [IPV4], {"web": [IPV4]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    time.sleep(SETTLE_SECONDS + 1)
    assert hook.waiting(), "nobody else could serve"
    pods("web-2", ["10.1.0.2"], {"web": ["10.1.0.2"]})
    agent.event("presence", to="withdrawn")
    hook.wait(10)
    assert agent.status()["hold_end"] == "all-gone"


def test_a_hold_survives_the_api_server_going_away_and_coming_back(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [IPV4], {"web": [IPV4]}, grace=120)
    pods("web-2", ["10.1.0.2"], {"web": ["10.1.0.2"]})
    agent = start_agent(pod, blind="90s").learnt()
    control_plane.stop_controller_manager()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="routable")

    control_plane.kill_apiserver()
    agent.event("presence", to="blind")
    control_plane.start_apiserver()
    agent.event("presence", **{"from": "blind", "to": "routable"})
    assert hook.waiting()
    control_plane.start_controller_manager()
    hook.wait(RECONNECT_SECONDS)
    assert agent.status()["hold_end"] == "all-gone"
    assert "lastcall_watch_restarts_total" in agent.metrics()


def test_without_its_role_the_agent_is_blind_and_says_so(control_plane, namespace, pods, start_agent):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [IPV4], {"web": [IPV4]})
    agent = start_agent(pod, granted=False, blind="4s")
    unreadable = agent.event("own-pod-unreadable", level="warn")
    assert "403" in unreadable["error"] and "pods" in unreadable["error"]
    control_plane.delete_pod(namespace, "web-1")
    by_hook, by_network = agent.hook(), agent.http_hook()
    # What the network says is no proof: its hook waits for `blind`, and so does the hold.
    assert 4 <= by_network.wait(10) < 8
    assert 4 <= by_hook.wait(10) < 8
    status = agent.status()
    assert status["trigger"] == "unverified"
    assert [consumer["gone_by"] for consumer in status["consumers"]] == ["blind"]
    assert not status["deadline_proven"]
