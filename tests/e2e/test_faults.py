"""The agent against an API server that fails in every way a server can: each stop ends within its bounds,
and somebody who reads the log or /status finds out why. No Kubernetes is needed."""

import pytest

import hostile_server as hostile
from agent import Agent
from certificates import Authority
from hostile_server import NAMESPACE, HostileServer
from scene import SETTLE_SECONDS

BLIND_SECONDS = 2
# A hold that ends by itself is over so long after its bound, on a busy machine.
LATE_SECONDS = 3
WEB = "endpointslices web"

# Each with what must be said of it.
NONSENSE = {
    hostile.closing: "closed without an answer",
    hostile.garbage: "not an HTTP answer",
    hostile.html: "expected JSON",
    hostile.plain_text: "expected JSON",
    hostile.not_json: "not JSON",
    hostile.truncated: "not JSON",
    hostile.cut_short: "answer cut short",
    hostile.endless_line: "the answer is longer than 4194304 bytes",
    hostile.internal_error: "HTTP 500: InternalError",
    hostile.forbidden: "HTTP 403: Forbidden",
}
OF_A_LIST = {
    **NONSENSE,
    hostile.not_json: "not a list: no '{' where one must be",
    hostile.truncated: "not a list: it ends early",
    hostile.endless_line: "not a list: an item is too long",
}
OF_A_WATCH = {
    **NONSENSE,
    hostile.truncated: "closed at once",
    hostile.endless_line: "a line is longer than 4194304 bytes",
}


def each_of(nonsense):
    """The parameters (behaviour, words) of a test that is run for each of them."""
    cases = [pytest.param(behaviour, words, id=behaviour.__name__) for behaviour, words in nonsense.items()]
    return pytest.mark.parametrize("behaviour, words", cases)


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with HostileServer(folder) as running:
        yield running


@pytest.fixture
def agent(server, tmp_path):
    """The agent of the server's pod, not yet started."""
    made = Agent(server, server.pod, tmp_path, settle=f"{SETTLE_SECONDS}s", blind=f"{BLIND_SECONDS}s")
    yield made
    made.kill()


def stop_blindly(agent):
    """Stops the pod without any sight of its consumers, and returns what /status says afterwards."""
    hook = agent.hook()
    took = hook.wait(BLIND_SECONDS + 10)
    assert BLIND_SECONDS <= took < BLIND_SECONDS + LATE_SECONDS
    status = agent.status()
    assert status["phase"] == "released"
    assert [consumer["gone_by"] for consumer in status["consumers"]] == ["blind"]
    gone = agent.event("consumer-gone")
    assert (gone["level"], gone["by"]) == ("warn", "blind")
    return status


def stop_unproven(agent):
    """As stop_blindly(), when not even the own pod can be read."""
    status = stop_blindly(agent)
    assert (status["trigger"], status["deadline_proven"]) == ("unverified", False)


def warned(agent, event, *words):
    """Waits for a warning and returns its error, which must hold these words."""
    error = agent.event(event, level="warn")["error"]
    assert all(word in error for word in words), error
    return error


# Nobody there


def test_a_server_that_cannot_be_reached_at_the_start_is_tried_until_it_can(server, agent):
    server.close()
    agent.start()
    warned(agent, "own-pod-unreadable", "get pods: ", "connection refused")
    server.open()
    agent.learnt()
    server.delete_pod()
    hook = agent.hook()
    agent.event("presence", to="routable")
    server.withdraw()
    hook.wait(10)
    assert agent.status()["hold_end"] == "all-gone"


def test_a_server_that_cannot_be_reached_at_the_hold_costs_blind(server, agent):
    agent.start()
    agent.learnt()
    server.delete_pod()
    server.close()
    stop_unproven_services(agent)
    warned(agent, "own-pod-unreadable", "get pods: ", "connection refused")
    warned(agent, "services-unknown", "list services: ", "connection refused")


def stop_unproven_services(agent):
    """The Services were learnt at the start: each is blind, and so is what else may be there."""
    hook = agent.hook()
    took = hook.wait(BLIND_SECONDS + 10)
    assert BLIND_SECONDS <= took < BLIND_SECONDS + LATE_SECONDS
    status = agent.status()
    assert (status["trigger"], status["deadline_proven"]) == ("unverified", False)
    assert {consumer["gone_by"] for consumer in status["consumers"]} == {"blind"}


def test_a_server_that_is_never_there_costs_blind(server, agent):
    server.close()
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", "get pods: ", "connection refused")


def test_a_server_that_goes_away_during_the_hold_costs_blind_from_the_last_sight(server, agent):
    agent.start()
    agent.learnt()
    server.delete_pod()
    hook = agent.hook()
    agent.event("presence", to="routable")
    server.close()
    blind = agent.event("presence", to="blind")
    assert "watch endpointslices: " in blind["why"]
    assert BLIND_SECONDS <= hook.wait(BLIND_SECONDS + 10) < BLIND_SECONDS + LATE_SECONDS
    warned(agent, "endpointslices-blind", "watch endpointslices: ")
    assert agent.consumers()[WEB]["gone_by"] == "blind"


# No answer


def test_a_server_that_never_answers_costs_blind(server, agent):
    server.misbehave(hostile.silent)
    agent.start()
    # Whoever asks over the network has no proof either, and starts nothing.
    by_network = agent.http_hook()
    stop_unproven(agent)
    by_network.wait(BLIND_SECONDS + LATE_SECONDS)


def test_lists_that_are_never_answered_cost_blind(server, agent):
    agent.start()
    agent.learnt()
    server.misbehave(hostile.silent, "endpointslices")
    server.delete_pod()
    status = stop_blindly(agent)
    assert (status["trigger"], status["deadline_proven"]) == ("deletion", True)


# Nonsense


@each_of(NONSENSE)
def test_nonsense_about_the_own_pod_is_no_proof(server, agent, behaviour, words):
    server.misbehave(behaviour)
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", words)


@each_of(OF_A_LIST)
def test_nonsense_about_services_leaves_somebody_unknown(server, agent, behaviour, words):
    server.misbehave(behaviour, "services")
    agent.start()
    warned(agent, "services-unknown", "list services: ", words)
    server.delete_pod()
    status = stop_blindly(agent)
    assert (status["trigger"], status["deadline_proven"]) == ("deletion", True)


@each_of(OF_A_LIST)
def test_nonsense_about_slices_leaves_the_service_blind(server, agent, behaviour, words):
    server.misbehave(behaviour, "endpointslices")
    agent.start()
    agent.learnt()
    server.delete_pod()
    stop_blindly(agent)
    error = warned(agent, "endpointslices-blind", "list endpointslices: ", words)
    assert agent.consumers()[WEB]["detail"] == error


@each_of(OF_A_WATCH)
def test_nonsense_in_watches_does_not_hide_what_lists_show(server, agent, behaviour, words):
    server.misbehave(behaviour, "watch")
    agent.start()
    agent.learnt()
    server.delete_pod()
    hook = agent.hook()
    agent.event("presence", to="routable")
    warned(agent, "endpointslices-blind", "watch endpointslices: ", words)
    server.withdraw()
    gone = agent.event("presence", to="withdrawn")
    assert gone["why"] == f"ready=false in slice {hostile.SLICE}"
    hook.wait(10)
    assert agent.status()["hold_end"] == "all-gone"
    assert agent.consumers()[WEB]["gone_by"] == "settle"


def test_a_list_of_a_gigabyte_is_read_to_its_end_in_little_memory(server, tmp_path):
    with Agent(server, server.pod, tmp_path, settle=f"{SETTLE_SECONDS}s", blind="60s") as agent:
        agent.learnt()
        before = agent.memory_peak_kib()
        server.misbehave(hostile.endless_list, "endpointslices")
        server.delete_pod()
        hook = agent.hook()
        agent.event("presence", to="routable", timeout=60)
        server.withdraw()
        hook.wait(60)
        assert agent.status()["hold_end"] == "all-gone"
        assert agent.memory_peak_kib() - before < 2048
        assert agent.memory_private_kib() < 16 * 1024


# Trust


def test_an_expired_certificate_is_named(server, agent):
    server.close()
    server.authority.let_expire(server.certificate)
    server.open()
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", "certificate not trusted: ", "certificate has expired")


def test_an_expired_authority_is_named(server, agent):
    server.authority.expire()
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", "certificate not trusted: ", "certificate has expired")


def test_a_certificate_for_somebody_else_is_named(server, agent):
    server.close()
    server.certificate = server.authority.server("other", ["DNS:elsewhere.invalid"])
    server.open()
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", "certificate not trusted: ", "name", "127.0.0.1")


def test_a_certificate_of_another_authority_is_named(server, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    other = Authority(folder).certificate
    assert_untrusted(server, tmp_path, other, "certificate not trusted: ", "unable to get local issuer")


@pytest.mark.parametrize("content", [None, "", "not a certificate\n"], ids=["missing", "empty", "garbage"])
def test_an_authority_file_that_cannot_be_used_is_named(server, tmp_path, content):
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content, encoding="ascii")
    assert_untrusted(server, tmp_path, file, f"CA file cannot be used: {file}")


def assert_untrusted(server, tmp_path, ca_file, *words):
    settings = {"blind": f"{BLIND_SECONDS}s", "kubernetes_ca_file": str(ca_file)}
    with Agent(server, server.pod, tmp_path, **settings) as agent:
        stop_unproven(agent)
        warned(agent, "own-pod-unreadable", *words)
        assert server.requests == [], "the token has not left the pod"


def test_a_missing_token_is_named(server, agent):
    agent.token_file.unlink()
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", f"{agent.token_file}: cannot be read")


def test_an_empty_token_is_named(server, agent):
    agent.token_file.write_text("\n", encoding="ascii")
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", f"{agent.token_file}: empty")


def test_an_expired_token_is_named(server, agent):
    server.tokens = {"another"}
    agent.start()
    stop_unproven(agent)
    warned(agent, "own-pod-unreadable", "get pods: HTTP 401: Unauthorized")


def test_a_token_that_is_rotated_during_the_hold_is_read_again(server, agent):
    agent.start()
    agent.learnt()
    server.delete_pod()
    hook = agent.hook()
    agent.event("presence", to="routable")
    agent.token_file.write_text("second", encoding="ascii")
    server.tokens = {"second"}
    # The watch ends, and what comes next needs the new token.
    server.cut()
    server.withdraw()
    hook.wait(10)
    assert agent.consumers()[WEB]["gone_by"] == "settle"
    assert server.requests[-1][1] == "second"


def test_a_token_that_comes_late_is_found(server, agent):
    agent.token_file.unlink()
    agent.start()
    warned(agent, "own-pod-unreadable", "cannot be read")
    agent.token_file.write_text(server.issue_token(NAMESPACE, "lastcall"), encoding="ascii")
    agent.learnt()
