"""What ends a pod or one of its containers, and whether the agent holds for it."""

import time
from datetime import datetime

import pytest

from processes import wait_for
from scene import LABELS, PORTS, SETTLE_SECONDS, address

OURS, OTHERS = address(1), address(2)
BLIND_SECONDS = 4
# A hook that is answered without a hold; a reading of the pod may have to wait for half a second.
AT_ONCE_SECONDS = 3


@pytest.fixture
def web(control_plane, namespace, pods):
    """The pod web-1 of the Service web, which has company: its hold is over after the settle."""
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pods("web-2", [OTHERS], {"web": [OTHERS]})
    return pods("web-1", [OURS], {"web": [OURS]})


@pytest.fixture
def own_node_web(control_plane, namespace, pods):
    """As web, on a node of its own, whose status the test may change."""
    node = control_plane.create_node(f"{namespace}-node")["metadata"]["name"]
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pods("web-2", [OTHERS], {"web": [OTHERS]})
    return pods("web-1", [OURS], {"web": [OURS]}, node=node)


@pytest.fixture
def last_web(control_plane, namespace, pods):
    """The pod web-1 of the Service web, its last endpoint: its hold lasts until add_company()."""
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    return pods("web-1", [OURS], {"web": [OURS]}, grace=120)


@pytest.fixture
def add_company(pods):
    return lambda: pods("web-2", [OTHERS], {"web": [OTHERS]})


def set_disruption_target(control_plane, namespace):
    """What the kubelet does before it ends a pod on its own account, to which no deletion belongs."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    control_plane.patch_pod_status(namespace, "web-1", {"conditions": [condition]})


# Deletion


def test_a_deletion_starts_the_hold_and_sets_the_deadline(control_plane, namespace, last_web, start_agent):
    agent = start_agent(last_web).learnt()
    deleted = control_plane.delete_pod(namespace, "web-1")["metadata"]
    agent.http_hook()
    started = agent.event("phase", phase="holding")
    assert (started["trigger"], started["deadline_proven"]) == ("deletion", True)
    # Of the clocks' grain a second is lost, never won.
    left = (at(deleted["deletionTimestamp"]) - at(started["time"])).total_seconds()
    assert left - 2.5 <= started["deadline_seconds"] <= left
    assert deleted["deletionGracePeriodSeconds"] == 120


def at(timestamp):
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00"))


def test_a_second_delete_with_less_grace_moves_the_deadline(
    control_plane, namespace, last_web, start_agent
):
    agent = start_agent(last_web).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    assert agent.status()["limit"] > 100
    control_plane.delete_pod(namespace, "web-1", grace=6)
    hook.wait(10)
    assert agent.status()["hold_end"] == "deadline"


def test_a_watched_pod_is_held_without_any_hook(control_plane, namespace, web, start_agent):
    agent = start_agent(web, watch_pod="true").learnt()
    control_plane.delete_pod(namespace, "web-1")
    agent.event("phase", phase="holding", trigger="deletion")
    agent.event("phase", phase="released", hold_end="all-gone")


def test_an_eviction_by_the_api_is_a_deletion(control_plane, namespace, web, start_agent):
    agent = start_agent(web).learnt()
    control_plane.evict_pod(namespace, "web-1")
    agent.http_hook().wait(15)
    status = agent.status()
    assert (status["trigger"], status["hold_end"]) == ("deletion", "all-gone")
    assert status["deadline_proven"]


def test_a_pod_deleted_by_force_is_held_for_blind_at_most(control_plane, namespace, web, start_agent):
    agent = start_agent(web, blind=f"{BLIND_SECONDS}s").learnt()
    control_plane.finish_pod(namespace, "web-1")
    # With the object its token has become void, although servers may go on believing it for a while.
    assert SETTLE_SECONDS <= agent.hook().wait(15) < BLIND_SECONDS + 3
    assert agent.status()["phase"] == "released"


# The kubelet


def test_an_eviction_by_the_kubelet_is_held_for_blind(control_plane, namespace, web, start_agent):
    agent = start_agent(web, blind=f"{BLIND_SECONDS}s").learnt()
    set_disruption_target(control_plane, namespace)
    assert BLIND_SECONDS <= agent.http_hook().wait(15) < BLIND_SECONDS + 3
    # Nobody withdraws the endpoint of a pod that is not being deleted.
    assert control_plane.is_ready(namespace, "web", OURS)
    status = agent.status()
    assert (status["trigger"], status["hold_end"]) == ("stopping", "unproven")
    assert status["still_there"] == [f"endpointslices {namespace}/web"]
    assert not status["deadline_proven"]


@pytest.mark.parametrize("reason", ["Evicted", "Terminated"])
def test_a_pod_that_the_kubelet_has_failed_is_held_until_its_endpoint_has_gone(
    control_plane, namespace, web, start_agent, reason
):
    agent = start_agent(web).learnt()
    # The controller looks at readiness, which the kubelet withdraws at the same time.
    unready = {"type": "Ready", "status": "False", "reason": "PodFailed"}
    status = {"phase": "Failed", "reason": reason, "conditions": [unready]}
    control_plane.patch_pod_status(namespace, "web-1", status)
    assert SETTLE_SECONDS <= agent.http_hook().wait(15)
    status = agent.status()
    assert (status["trigger"], status["hold_end"]) == ("stopping", "all-gone")
    assert not control_plane.endpoints(namespace, "web", OURS)


def test_a_shutdown_of_the_node_stops_a_pod_that_looks_living(
    control_plane, namespace, own_node_web, node_reader, start_agent
):
    agent = start_agent(own_node_web, blind=f"{BLIND_SECONDS}s").learnt()
    shutdown = {"type": "Ready", "status": "False", "message": "node is shutting down"}
    control_plane.patch_node_status(own_node_web["spec"]["nodeName"], {"conditions": [shutdown]})
    assert BLIND_SECONDS <= agent.http_hook().wait(15) < BLIND_SECONDS + 3
    assert agent.event("node-ending-pods")["why"] == "Ready (node is shutting down)"
    status = agent.status()
    assert (status["trigger"], status["hold_end"]) == ("stopping", "unproven")


def test_a_node_under_pressure_leaves_a_hook_unverified(
    control_plane, namespace, own_node_web, node_reader, start_agent
):
    agent = start_agent(own_node_web, blind=f"{BLIND_SECONDS}s").learnt()
    pressure = {"type": "MemoryPressure", "status": "True"}
    control_plane.patch_node_status(own_node_web["spec"]["nodeName"], {"conditions": [pressure]})
    # Its kubelet may be evicting this pod, or restarting one container of it.
    by_network, by_container = agent.http_hook(), agent.hook()
    assert BLIND_SECONDS <= by_network.wait(15) < BLIND_SECONDS + 3
    assert BLIND_SECONDS <= by_container.wait(15) < BLIND_SECONDS + 3
    assert agent.event("node-ending-pods")["why"] == "MemoryPressure"
    status = agent.status()
    assert (status["trigger"], status["hold_end"]) == ("unverified", "unproven")


def test_a_node_that_may_not_be_read_looks_like_one_without_trouble(
    control_plane, namespace, own_node_web, start_agent
):
    agent = start_agent(own_node_web, blind=f"{BLIND_SECONDS}s").learnt()
    shutdown = {"type": "Ready", "status": "False", "message": "node is shutting down"}
    control_plane.patch_node_status(own_node_web["spec"]["nodeName"], {"conditions": [shutdown]})
    hook = agent.http_hook()
    assert hook.wait(5) < AT_ONCE_SECONDS
    assert hook.output().strip() == "container-restart"
    assert "nodes" in agent.event("node-unreadable")["error"]


def test_the_restart_of_one_container_is_answered_at_once(control_plane, namespace, web, start_agent):
    agent = start_agent(web).learnt()
    restart = agent.http_hook()
    assert restart.wait(5) < AT_ONCE_SECONDS
    assert restart.output().strip() == "container-restart"
    assert agent.status()["phase"] == "serving"

    control_plane.delete_pod(namespace, "web-1")
    stop = agent.http_hook()
    assert stop.wait(15) >= SETTLE_SECONDS
    assert stop.output().strip() == "released"
    assert agent.status()["hold_end"] == "all-gone"


# Several hooks


def test_the_hooks_of_several_containers_are_released_together(
    control_plane, namespace, last_web, start_agent, add_company
):
    agent = start_agent(last_web).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hooks = [agent.hook(), agent.hook(), agent.http_hook()]
    agent.event("presence", to="last-resort")
    wait_for_hooks(agent, 3)
    # A kubelet that restarts calls its hooks again, and nobody waits for the first answer any more.
    hooks.pop(0).kill()
    wait_for_hooks(agent, 2)
    hooks.append(agent.hook())
    wait_for_hooks(agent, 3)
    assert all(hook.waiting() for hook in hooks)

    add_company()
    for hook in hooks:
        hook.wait(10)
    assert agent.hook().wait(5) < AT_ONCE_SECONDS, "the stop has been decided"
    answers = [event["answer"] for event in agent.events() if event["event"] == "hook-answered"]
    assert answers == ["released"] * 4
    assert len([event for event in agent.events() if event.get("phase") == "holding"]) == 1


def wait_for_hooks(agent, count):
    wait_for(lambda: agent.status()["hooks_waiting"] == count, what=f"{count} hooks to wait")


# The agent's own container


def test_an_agent_that_is_told_to_end_holds_without_any_hook(control_plane, namespace, web, start_agent):
    agent = start_agent(web).learnt()
    control_plane.delete_pod(namespace, "web-1")
    told = time.monotonic()
    agent.terminate()
    agent.event("phase", phase="holding", trigger="deletion")
    assert agent.wait(15) == 0
    assert time.monotonic() - told >= SETTLE_SECONDS
    assert control_plane.is_withdrawn(namespace, "web", OURS)
    agent.event("phase", phase="released", hold_end="all-gone")


def test_an_agent_that_is_told_to_end_after_the_hooks_ends_at_once(
    control_plane, namespace, web, start_agent
):
    agent = start_agent(web).learnt()
    control_plane.delete_pod(namespace, "web-1")
    agent.hook().wait(15)
    told = time.monotonic()
    agent.terminate()
    assert agent.wait(5) == 0
    assert time.monotonic() - told < 1


def test_an_agent_whose_own_container_restarts_ends_at_once(control_plane, namespace, web, start_agent):
    agent = start_agent(web).learnt()
    told = time.monotonic()
    agent.terminate()
    assert agent.wait(5) == 0
    assert time.monotonic() - told < AT_ONCE_SECONDS
    assert not [event for event in agent.events() if event["event"] == "phase"]
    agent.start()
    agent.learnt()
    control_plane.delete_pod(namespace, "web-1")
    assert agent.hook().wait(15) >= SETTLE_SECONDS


def test_a_hook_survives_a_restart_of_the_agent_during_the_hold(
    control_plane, namespace, last_web, start_agent, add_company
):
    agent = start_agent(last_web).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    deadline = agent.status()["deadline"]
    agent.kill()
    agent.start()
    agent.event("presence", to="last-resort")
    assert hook.waiting()
    status = agent.status()
    assert (status["phase"], status["trigger"]) == ("holding", "deletion")
    assert status["deadline_proven"] and status["deadline"] < deadline + 1
    add_company()
    hook.wait(10)
    assert agent.status()["hold_end"] == "all-gone"


def test_a_hook_whose_agent_never_comes_back_becomes_a_plain_sleep(
    control_plane, namespace, last_web, start_agent
):
    agent = start_agent(last_web).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook("--fallback", "3s")
    agent.event("presence", to="last-resort")
    agent.kill()
    assert 3 <= hook.wait(10) < 6
