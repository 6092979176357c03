"""Fixtures: one control plane and one node for the session, a namespace of its own for each test."""

import secrets
import signal

import pytest

import binaries
from controlplane import ControlPlane


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


@pytest.fixture
def namespace(control_plane):
    """The name of an empty namespace; its pods are gone after the test and all servers run again."""
    name = control_plane.create_namespace(f"e2e-{secrets.token_hex(4)}")
    yield name
    control_plane.restore()
    control_plane.delete_namespace(name)
