"""What each kind of Service does to the endpoint of a pod that stops, and what the agent makes of it."""

import concurrent.futures
import time

import pytest

from agent import SERVICE_ACCOUNT
from api import ENDPOINT_SLICES
from controlplane import user_of
from processes import wait_for
from scene import LABELS, PORTS, SETTLE_SECONDS, address

OURS, OTHERS = address(1), address(2)
WEB = "endpointslices web"
SERVICE_NAME = "kubernetes.io/service-name"
# For tests in which the settle has to outlast something.
LONG_SETTLE = "5s"


def released(agent):
    """What /status says of a hold that is over because every consumer has gone."""
    status = agent.status()
    assert (status["phase"], status["hold_end"], status["still_there"]) == ("released", "all-gone", [])
    return status


def presences(agent, consumer=None):
    """All that the agent has said so far about the presence of its consumers, or of one."""
    changes = [event for event in agent.events() if event["event"] == "presence"]
    return [event["to"] for event in changes if consumer in (None, event["consumer"])]


def slice_names(control_plane, namespace, service, ip):
    """The names of the slices that list the address."""
    slices = control_plane.endpointslices(namespace, service)
    listing = [each for each in slices if any(ip in entry["addresses"] for entry in each["endpoints"] or [])]
    return {each["metadata"]["name"] for each in listing}


def named_ports(*names):
    """For a Service whose target ports are the pods' own ports of these names."""
    return {"ports": [{"name": name, "port": 80 + i, "targetPort": name} for i, name in enumerate(names)]}


# Ports


def test_pods_that_give_a_named_port_different_numbers_replace_each_other(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec=named_ports("http"))
    pod = pods("web-1", [OURS], {"web": [OURS]}, ports={"http": 8080})
    pods("web-2", [OTHERS], {"web": [OTHERS]}, ports={"http": 9090})
    ours, others = (slice_names(control_plane, namespace, "web", ip) for ip in (OURS, OTHERS))
    assert not ours & others, "each number has slices of its own"

    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    agent.hook().wait(15)
    assert control_plane.is_withdrawn(namespace, "web", OURS)
    assert control_plane.is_ready(namespace, "web", OTHERS)
    assert presences(agent)[-1] == "withdrawn" and "last-resort" not in presences(agent)
    released(agent)


def test_the_last_endpoint_of_one_port_is_held_although_another_port_has_company(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec=named_ports("http", "admin"))
    both = {"http": 8080, "admin": 9901}
    pod = pods("web-1", [OURS], {"web": [OURS]}, ports=both)
    pods("web-2", [OTHERS], {"web": [OTHERS]}, ports={"http": 8080})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    pods("web-3", [address(3)], {"web": [address(3)]}, ports=both)
    agent.event("presence", to="withdrawn")
    hook.wait(10)
    released(agent)


def test_pods_of_the_host_network_are_told_apart_although_they_share_an_address(
    control_plane, namespace, pods, start_agent
):
    host = {"hostNetwork": True}
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec=named_ports("http"))
    first = pods("web-1", [OURS], ports={"http": 8080}, spec=host)
    second = pods("web-2", [OURS], ports={"http": 9090}, spec=host)
    wait_for(
        lambda: len(control_plane.endpoints(namespace, "web", OURS)) == 2
        and control_plane.is_ready(namespace, "web", OURS),
        what="both pods to be ready",
    )
    agents = [start_agent(pod).learnt() for pod in (first, second)]

    control_plane.delete_pod(namespace, "web-1")
    agents[0].hook().wait(15)
    released(agents[0])
    entries = control_plane.endpoints(namespace, "web", OURS)
    assert sorted(entry["conditions"]["ready"] for entry in entries) == [False, True]

    # The second one is now the last, whatever the entry of the first says at the same address.
    control_plane.delete_pod(namespace, "web-2")
    hook = agents[1].hook()
    agents[1].event("presence", to="last-resort")
    assert hook.waiting()


# Kinds of Services


def test_a_headless_service_is_held_like_any_other(control_plane, namespace, pods, start_agent):
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec={"clusterIP": "None"})
    pod = pods("web-1", [OURS], {"web": [OURS]})
    pods("web-2", [OTHERS], {"web": [OTHERS]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    assert agent.hook().wait(15) >= SETTLE_SECONDS
    assert control_plane.is_withdrawn(namespace, "web", OURS)
    (consumer,) = released(agent)["consumers"]
    assert consumer["thresholds"]["settle"] == {"seconds": SETTLE_SECONDS, "source": "environment"}


def test_a_headless_service_settles_until_dns_caches_have_run_out(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec={"clusterIP": "None"})
    control_plane.create_service(namespace, "plain", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS], "plain": [OURS]})
    pods("web-2", [OTHERS], {"web": [OTHERS], "plain": [OTHERS]})
    agent = start_agent(pod, settle=None).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("consumer-gone", consumer=f"{namespace}/plain", by="settle")
    assert hook.waiting()
    consumers = agent.consumers()
    settles = {name: consumer["thresholds"]["settle"] for name, consumer in consumers.items()}
    assert settles == {
        "endpointslices plain": {"seconds": 3, "source": "default"},
        WEB: {"seconds": 30, "source": "default"},
    }
    assert (consumers[WEB]["presence"], consumers[WEB]["gone"]) == ("withdrawn", None)


@pytest.mark.parametrize(
    "local",
    [{"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, {"internalTrafficPolicy": "Local"}],
    ids=["external", "internal"],
)
def test_with_local_traffic_a_ready_endpoint_on_another_node_is_no_company(
    control_plane, namespace, other_node, pods, start_agent, local
):
    control_plane.create_service(namespace, "web", LABELS, PORTS, spec=local)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    pods("web-2", [OTHERS], {"web": [OTHERS]}, node=other_node)
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    assert control_plane.is_withdrawn(namespace, "web", OURS)
    assert control_plane.is_ready(namespace, "web", OTHERS)
    pods("web-3", [address(3)], {"web": [address(3)]})
    agent.event("presence", to="withdrawn")
    hook.wait(10)
    released(agent)


def test_an_address_that_is_published_although_not_ready_is_held_for_a_fixed_time(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(
        namespace, "web", LABELS, PORTS, spec={"publishNotReadyAddresses": True}
    )
    pod = pods("web-1", [OURS], {"web": [OURS]})
    pods("web-2", [OTHERS], {"web": [OTHERS]})
    agent = start_agent(pod, blind="4s").learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="withdrawn")
    (entry,) = control_plane.endpoints(namespace, "web", OURS)
    assert entry["conditions"] == {"ready": True, "serving": True, "terminating": True}
    assert 4 <= hook.wait(15) < 8
    released(agent)


def test_a_slice_made_by_hand_is_waited_for_until_it_leaves_us_out(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "manual", None, PORTS)
    make_slice(control_plane, namespace, "manual-1", [OURS, OTHERS])
    pod = pods("web-1", [OURS])
    agent = start_agent(pod, blind="30s").learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("phase", phase="holding")
    time.sleep(SETTLE_SECONDS + 1)
    assert hook.waiting(), "the slice still lists us"
    assert agent.consumers()["unmanaged-endpointslices manual"]["presence"] == "blind"
    control_plane.admin.patch(
        ENDPOINT_SLICES, "manual-1", {"endpoints": [{"addresses": [OTHERS]}]}, namespace
    )
    hook.wait(10)
    released(agent)


def test_a_slice_made_by_hand_that_keeps_listing_us_costs_blind(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "manual", None, PORTS)
    make_slice(control_plane, namespace, "manual-1", [OURS])
    pod = pods("web-1", [OURS])
    agent = start_agent(pod, blind="4s").learnt()
    control_plane.delete_pod(namespace, "web-1")
    assert 4 <= agent.hook().wait(10) < 8
    (consumer,) = released(agent)["consumers"]
    assert (consumer["kind"], consumer["gone_by"]) == ("unmanaged-endpointslices", "blind")


def test_a_mirrored_endpoints_object_is_waited_for_until_it_leaves_us_out(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "mirrored", None, PORTS)
    make_endpoints(control_plane, namespace, "mirrored", [OURS, OTHERS])
    wait_for(
        lambda: control_plane.endpoints(namespace, "mirrored", OURS), what="the controller to mirror it"
    )
    pod = pods("web-1", [OURS])
    agent = start_agent(pod, blind="30s").learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("phase", phase="holding")
    time.sleep(SETTLE_SECONDS + 1)
    assert hook.waiting(), "the mirror still lists us"
    make_endpoints(control_plane, namespace, "mirrored", [OTHERS])
    hook.wait(10)
    (consumer,) = released(agent)["consumers"]
    assert consumer["kind"] == "unmanaged-endpointslices"


def make_slice(control_plane, namespace, name, addresses):
    """A slice of the Service `manual` that no controller looks after."""
    endpoint_slice = {
        "metadata": {"name": name, "labels": {SERVICE_NAME: "manual"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": [ip]} for ip in addresses],
    }
    control_plane.admin.create(ENDPOINT_SLICES, endpoint_slice, namespace)


def make_endpoints(control_plane, namespace, name, addresses):
    subset = {"addresses": [{"ip": ip} for ip in addresses], "ports": [{"name": "http", "port": 8080}]}
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name}, "subsets": [subset]}
    control_plane.admin.apply("endpoints", endpoints, namespace)


def test_legacy_endpoints_are_waited_for_when_asked_to(
    control_plane, namespace, pods, endpoints_reader, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    pods("web-2", [OTHERS], {"web": [OTHERS]})
    agent = start_agent(pod, endpoints="true").learnt()
    control_plane.delete_pod(namespace, "web-1")
    agent.hook().wait(15)
    listed = control_plane.admin.get("endpoints", "web", namespace)["subsets"]
    assert [entry["ip"] for subset in listed for entry in subset["addresses"]] == [OTHERS]
    released(agent)
    assert set(agent.consumers()) == {WEB, "endpoints web"}


# How many


def test_a_pod_behind_no_service_is_released_at_once(control_plane, namespace, pods, start_agent):
    control_plane.create_service(namespace, "elsewhere", {"app": "other"}, PORTS)
    agent = start_agent(pods("web-1", [OURS])).learnt()
    control_plane.delete_pod(namespace, "web-1")
    assert agent.hook().wait(15) < 3
    assert released(agent)["consumers"] == []
    requests = control_plane.requests_by(user_of(namespace, SERVICE_ACCOUNT))
    assert "endpointslices" not in [request.resource for request in requests if request.verb == "watch"]


def test_a_pod_behind_ten_services_waits_for_each_with_one_watch(
    control_plane, namespace, pods, start_agent
):
    names = [f"web-{number}" for number in range(10)]
    for name in names:
        control_plane.create_service(namespace, name, LABELS, PORTS)
    pod = pods("web-1", [OURS], {name: [OURS] for name in names})
    pods("web-2", [OTHERS], {name: [OTHERS] for name in names})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    agent.hook().wait(20)
    consumers = released(agent)["consumers"]
    assert {consumer["name"] for consumer in consumers} == {f"{namespace}/{name}" for name in names}
    assert {consumer["gone_by"] for consumer in consumers} == {"settle"}
    assert all(control_plane.is_withdrawn(namespace, name, OURS) for name in names)
    requests = control_plane.requests_by(user_of(namespace, SERVICE_ACCOUNT))
    assert [request.verb for request in requests if request.resource == "endpointslices"] == ["list", "watch"]


@pytest.fixture
def many_pods(control_plane, namespace, node, pods):
    """Makes a Service web of so many ready pods and returns the first one, web-1."""

    def make(count):
        def create(number):
            ip = address(number)
            control_plane.create_pod(namespace, f"web-{number}", [ip], node, labels=LABELS, ports=PORTS)

        def listed():
            slices = control_plane.endpointslices(namespace, "web")
            return sum(len(each["endpoints"] or []) for each in slices) == count

        control_plane.create_service(namespace, "web", LABELS, PORTS)
        # With one pod more at a time the controller would write every slice again and again.
        control_plane.stop_controller_manager()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(create, range(2, count + 1)))
        first = pods("web-1", [OURS])
        control_plane.start_controller_manager()
        wait_for(listed, 60, "every pod to be in a slice")
        return first

    return make


@pytest.mark.parametrize("count, slices_min", [(150, 2), (1100, 11)])
def test_a_service_of_many_slices_is_read_whole(
    control_plane, namespace, many_pods, start_agent, count, slices_min
):
    agent = start_agent(many_pods(count)).learnt()
    assert len(control_plane.endpointslices(namespace, "web")) >= slices_min
    control_plane.delete_pod(namespace, "web-1")
    agent.hook().wait(30)
    assert control_plane.is_withdrawn(namespace, "web", OURS)
    assert "last-resort" not in presences(agent)
    released(agent)


def test_legacy_endpoints_of_more_than_a_thousand_pods_prove_nothing(
    control_plane, namespace, many_pods, endpoints_reader, start_agent
):
    pod = many_pods(1100)

    def truncated():
        annotations = control_plane.admin.get("endpoints", "web", namespace)["metadata"]["annotations"]
        return annotations.get("endpoints.kubernetes.io/over-capacity") == "truncated"

    wait_for(truncated, 30, "the Endpoints to be truncated")
    agent = start_agent(pod, endpoints="true", blind="4s").learnt()
    control_plane.delete_pod(namespace, "web-1")
    assert agent.hook().wait(30) >= 4
    released(agent)
    consumers = agent.consumers()
    assert (consumers[WEB]["gone_by"], consumers["endpoints web"]["gone_by"]) == ("settle", "blind")
    assert "truncated" in consumers["endpoints web"]["detail"]


# While holding


def test_a_service_deleted_while_holding_is_no_longer_waited_for(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    control_plane.admin.delete("services", "web", namespace)
    agent.event("presence", to="withdrawn")
    hook.wait(10)
    released(agent)


def test_a_service_that_turns_away_while_holding_is_no_longer_waited_for(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    control_plane.admin.patch("services", "web", {"spec": {"selector": {"app": "other"}}}, namespace)
    agent.event("presence", to="withdrawn")
    hook.wait(10)
    assert not control_plane.endpoints(namespace, "web", OURS)
    released(agent)


def test_a_pod_relabelled_while_holding_is_no_longer_waited_for(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    control_plane.admin.patch("pods", "web-1", {"metadata": {"labels": {"app": "other"}}}, namespace)
    agent.event("presence", to="withdrawn")
    hook.wait(10)
    assert not control_plane.endpoints(namespace, "web", OURS)
    released(agent)


def test_a_service_created_while_holding_is_waited_for(control_plane, namespace, pods, start_agent):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", consumer=f"{namespace}/web", to="last-resort")
    control_plane.create_service(namespace, "late", LABELS, PORTS)
    agent.event("presence", consumer=f"{namespace}/late", to="last-resort")
    pods("web-2", [OTHERS], {"web": [OTHERS], "late": [OTHERS]})
    hook.wait(10)
    assert {consumer["name"] for consumer in released(agent)["consumers"]} == {
        f"{namespace}/web",
        f"{namespace}/late",
    }


def test_a_service_that_turns_to_us_while_holding_is_waited_for(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    control_plane.create_service(namespace, "other", {"app": "other"}, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    agent = start_agent(pod).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", consumer=f"{namespace}/web", to="last-resort")
    control_plane.admin.patch("services", "other", {"spec": {"selector": LABELS}}, namespace)
    agent.event("presence", consumer=f"{namespace}/other", to="last-resort")
    pods("web-2", [OTHERS], {"web": [OTHERS], "other": [OTHERS]})
    hook.wait(10)
    released(agent)


def test_an_entry_that_moves_to_another_slice_has_not_left(control_plane, namespace, pods, start_agent):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    # The controller takes about a second to make a new slice.
    agent = start_agent(pod, settle=LONG_SETTLE).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    (before,) = slice_names(control_plane, namespace, "web", OURS)
    control_plane.admin.delete(ENDPOINT_SLICES, before, namespace)

    def after():
        return slice_names(control_plane, namespace, "web", OURS) - {before}

    (name,) = wait_for(after, what="the controller to make a new slice")
    wait_for(lambda: name in agent.consumers()[WEB]["detail"], what="the agent to find the new slice")
    assert hook.waiting() and presences(agent)[-1] == "last-resort"
    assert "withdrawn" not in presences(agent)
    pods("web-2", [OTHERS], {"web": [OTHERS]})
    agent.event("presence", to="withdrawn")
    hook.wait(15)
    released(agent)


# Readiness


def test_a_pod_that_was_never_ready_is_held_until_it_is_listed_as_terminating(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], ready=False)
    wait_for(lambda: control_plane.is_withdrawn(namespace, "web", OURS), what="the pod to be in a slice")
    agent = start_agent(pod).learnt()
    control_plane.stop_controller_manager()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    # It may become ready as long as the controller has not seen that it is being deleted.
    assert "not yet terminating" in agent.event("presence", to="routable")["why"]
    time.sleep(SETTLE_SECONDS + 1)
    assert hook.waiting()
    control_plane.start_controller_manager()
    agent.event("presence", to="withdrawn", timeout=30)
    hook.wait(10)
    (entry,) = control_plane.endpoints(namespace, "web", OURS)
    assert entry["conditions"] == {"ready": False, "serving": False, "terminating": True}
    assert "last-resort" not in presences(agent)
    released(agent)


def test_a_last_endpoint_that_turns_ready_again_is_called_back(
    control_plane, namespace, pods, start_agent
):
    control_plane.create_service(namespace, "web", LABELS, PORTS)
    pod = pods("web-1", [OURS], {"web": [OURS]})
    agent = start_agent(pod, settle=LONG_SETTLE).learnt()
    control_plane.delete_pod(namespace, "web-1")
    hook = agent.hook()
    agent.event("presence", to="last-resort")
    # Nobody falls back to an endpoint that does not serve.
    control_plane.set_ready(namespace, "web-1", False)
    agent.event("presence", to="withdrawn")
    control_plane.set_ready(namespace, "web-1", True)
    agent.event("consumer-returned", consumer=f"{namespace}/web")
    assert hook.waiting()

    turned = time.monotonic()
    control_plane.set_ready(namespace, "web-1", False)
    hook.wait(15)
    assert time.monotonic() - turned >= 5, "the settle counts from the last withdrawal"
    assert presences(agent)[-4:] == ["last-resort", "withdrawn", "last-resort", "withdrawn"]
    released(agent)
