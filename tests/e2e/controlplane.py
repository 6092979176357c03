"""A real Kubernetes control plane on the loopback interface: etcd, kube-apiserver, kube-controller-manager.

There is no scheduler and no kubelet: pods are created bound to a Node object, and their status is written
by the test with made-up addresses, to which nothing is ever sent. The real controllers do the rest, so
EndpointSlices change as in production. A DELETE with a grace period leaves such a pod terminating until
finish_pod().
"""

import contextlib
import http.client
import json
import os
import pathlib
import tempfile
from typing import NamedTuple

import yaml

from api import ENDPOINT_SLICES, STRATEGIC_MERGE_PATCH, ApiError, Client
from certificates import Authority, signing_key
from processes import Process, ReservedPort, wait_for

HOST = "127.0.0.1"
ISSUER = "https://kubernetes.default.svc"
START_SECONDS_MAX = 90
SERVICE_RANGES = "10.96.0.0/16,fd00:96::/112"

# Nothing that would touch a pod without a kubelet: no node lifecycle, no pod garbage collection, no eviction.
CONTROLLERS = (
    "endpoints-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "root-ca-certificate-publisher-controller",
    "service-cidr-controller",
    "serviceaccount-controller",
)

# The harness and the controllers are left out, so that the log holds what the tested programs did.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "None", "userGroups": ["system:masters"]}, {"level": "Metadata"}],
}


class Request(NamedTuple):
    """One request as the API server saw it; the resource includes the subresource: "pods/status"."""

    verb: str
    resource: str
    uri: str


def user_of(namespace, service_account):
    """The user name of a service account, as the API server writes it."""
    return f"system:serviceaccount:{namespace}:{service_account}"


class ControlPlane:
    """Context manager; inside it everything runs and is ready, after it everything is gone.

    `programs` maps the names of binaries.CONTROL_PLANE to executables. Logs and the audit log go to the
    folder LASTCALL_E2E_LOGS, which is kept, or else into the temporary folder. Ports are chosen by the
    kernel and stay the same when a server is stopped and started.

    Attributes: `admin`, a Client that may do everything; `ca_file`; `port`; `url`; `logs`.
    """

    def __init__(self, programs, controller_qps=200):
        """`controller_qps`: how many requests a second each controller may send. At its default of 20 tests
        would measure the client's own throttle."""
        self._programs = programs
        self._controller_qps = controller_qps
        self._had_outage = False

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._set_up(stack)
            self.start_apiserver()
            self.start_controller_manager()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    # Servers

    def start_apiserver(self):
        """Returns when the API server is ready. No-op while it runs."""
        self._start(self._apiserver, self.admin, "/readyz")

    def stop_apiserver(self):
        """Ends the API server as an upgrade would: its watches end, then connections are refused."""
        self._had_outage = True
        self._apiserver.stop()

    def kill_apiserver(self):
        """Ends the API server as a crash would: its connections are reset."""
        self._had_outage = True
        self._apiserver.kill()

    def start_controller_manager(self):
        """Returns when the controller manager is healthy. No-op while it runs."""
        self._start(self._controller_manager, self._controller_manager_client, "/healthz")

    def stop_controller_manager(self):
        """From here on nobody turns changes of pods into changes of EndpointSlices."""
        self._controller_manager.stop()

    def restore(self):
        """Everything runs again, as if nothing had been stopped.

        Controllers that lost their API server come back to it after a pause that grows with each outage;
        starting them anew spares the next test that wait.
        """
        self.start_apiserver()
        if self._had_outage:
            self.stop_controller_manager()
            self._had_outage = False
        self.start_controller_manager()

    def _set_up(self, stack):
        """Makes files, ports and processes; starts etcd alone. What must be undone goes on the stack."""
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lastcall-e2e-")))
        self.logs = _empty_logs(pathlib.Path(os.environ.get("LASTCALL_E2E_LOGS") or folder / "logs"))
        ports = [stack.enter_context(contextlib.closing(ReservedPort())).number for _ in range(4)]
        self._audit_log = self.logs / "audit.log"
        self._set_up_identities(folder, port=ports[0], controller_manager_port=ports[1])

        def process(name, flags):
            server = Process(name, [self._programs[name], *flags], self.logs / f"{name}.log")
            stack.callback(server.kill)
            return server

        self._etcd = process("etcd", _etcd_flags(folder, client_port=ports[2], peer_port=ports[3]))
        self._etcd.start()
        self._apiserver = process("kube-apiserver", self._apiserver_flags(folder, etcd_port=ports[2]))
        flags = self._controller_manager_flags(folder, port=ports[1])
        self._controller_manager = process("kube-controller-manager", flags)

    def _set_up_identities(self, folder, port, controller_manager_port):
        authority = Authority(folder)
        names = [f"IP:{HOST}", "DNS:localhost", "DNS:kubernetes.default.svc"]
        self._serving = authority.server("kube-apiserver", names)
        self._signing_key, self._verifying_key = signing_key(folder)
        self._controller_identity = authority.client("controller-manager", "system:masters")
        self.ca_file = authority.certificate
        self.port = port
        self.url = f"https://{HOST}:{port}"
        self.admin = Client(HOST, port, self.ca_file, authority.client("admin", "system:masters"))
        self._controller_manager_client = Client(HOST, controller_manager_port, self.ca_file)

    def _apiserver_flags(self, folder, etcd_port):
        policy = _write_json(folder / "audit-policy.json", AUDIT_POLICY)
        return [
            f"--etcd-servers=http://{HOST}:{etcd_port}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={self.port}",
            "--permit-port-sharing",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={self.ca_file}",
            "--authorization-mode=RBAC",
            f"--service-cluster-ip-range={SERVICE_RANGES}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-signing-key-file={self._signing_key}",
            f"--service-account-key-file={self._verifying_key}",
            # Without it a server that is told to stop leaves its watches open for a minute.
            "--shutdown-watch-termination-grace-period=1s",
            # One after the other, a thousand pods would outlast the client's patience.
            "--delete-collection-workers=8",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._audit_log}",
        ]

    def _controller_manager_flags(self, folder, port):
        kubeconfig = _write_json(folder / "controller-manager.json", self._kubeconfig())
        return [
            f"--kubeconfig={kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            f"--root-ca-file={self.ca_file}",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            "--permit-port-sharing",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--kube-api-qps={self._controller_qps}",
            f"--kube-api-burst={2 * self._controller_qps}",
        ]

    def _kubeconfig(self):
        identity = self._controller_identity
        user = {"client-certificate": str(identity.certificate), "client-key": str(identity.key)}
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": "e2e", "user": user}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
            "current-context": "e2e",
        }

    def _start(self, process, client, health_path):
        if not process.running():
            process.start()

        def healthy():
            self._etcd.require_running()
            process.require_running()
            try:
                return client.request("GET", health_path)
            except (ApiError, OSError, http.client.HTTPException):
                return None

        wait_for(healthy, START_SECONDS_MAX, f"{process.name} to be ready")

    # Objects

    def create_namespace(self, name):
        """Returns the name once pods can be created there: when it has its default service account."""
        self.admin.create("namespaces", {"metadata": {"name": name}})

        def has_account():
            accounts = self.admin.list("serviceaccounts", name)
            return any(account["metadata"]["name"] == "default" for account in accounts)

        wait_for(has_account, 60, f"the default service account of {name}")
        return name

    def delete_namespace(self, name):
        """Finishes its pods and starts its deletion, which the namespace controller completes later."""
        self.admin.delete_all("pods", name, grace=0)
        self.admin.delete("namespaces", name)

    def create_node(self, name, labels=None):
        """A Node object, without which the controllers leave its pods out of EndpointSlices."""
        return self.admin.create("nodes", {"metadata": {"name": name, "labels": labels or {}}})

    def patch_node_status(self, name, status):
        """Merges fields into a node's status; conditions are merged by their type."""
        return self.admin.patch("nodes", name, {"status": status}, "", "status", STRATEGIC_MERGE_PATCH)

    def create_service(self, namespace, name, selector, ports, *, annotations=None, spec=None):
        """`ports` maps port names to numbers (of Service and pod alike); `spec` adds or replaces fields.

        A Service without a selector is made with None.
        """
        entries = [{"name": key, "port": port, "targetPort": port} for key, port in ports.items()]
        service = {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"selector": selector, "ports": entries, **(spec or {})},
        }
        return self.admin.create("services", service, namespace)

    def create_pod(
        self,
        namespace,
        name,
        ips,
        node,
        *,
        labels=None,
        annotations=None,
        ports=None,
        grace=30,
        ready=True,
        spec=None,
    ):
        """Creates a pod that looks running, with these made-up addresses, and returns it.

        `ports` maps port names to numbers; `grace` is in seconds; `spec` adds or replaces fields.
        """
        entries = [{"name": key, "containerPort": port} for key, port in (ports or {}).items()]
        pod = {
            "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": grace,
                "containers": [{"name": "main", "image": "none", "ports": entries}],
                **(spec or {}),
            },
        }
        self.admin.create("pods", pod, namespace)
        addresses = {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
        return self.patch_pod_status(namespace, name, {"phase": "Running", **addresses, **_readiness(ready)})

    def set_ready(self, namespace, name, ready=True):
        """What the kubelet does when a readiness probe changes its answer."""
        return self.patch_pod_status(namespace, name, _readiness(ready))

    def patch_pod_status(self, namespace, name, status):
        """Merges fields into a pod's status; conditions are merged by their type."""
        return self.admin.patch("pods", name, {"status": status}, namespace, "status", STRATEGIC_MERGE_PATCH)

    def delete_pod(self, namespace, name, grace=None):
        """Starts the deletion: the pod is terminating until finish_pod(). None: its own grace period."""
        return self.admin.delete("pods", name, namespace, grace)

    def evict_pod(self, namespace, name):
        """What `kubectl drain` does to a pod: asks for its deletion by the Eviction API."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return self.admin.create("pods", eviction, namespace, name, subresource="eviction")

    def finish_pod(self, namespace, name):
        """What the kubelet does when all containers have ended: removes the pod object."""
        return self.admin.delete("pods", name, namespace, grace=0)

    def apply_manifest(self, manifest, namespace):
        """Applies every object of a YAML file and returns them as the server stored them.

        Namespaced objects go into `namespace`, whatever the file says, and so do the service accounts
        that bindings name.
        """
        with open(manifest, encoding="utf-8") as stream:
            documents = [document for document in yaml.safe_load_all(stream) if document]
        return [self._apply(document, namespace) for document in documents]

    def delete_object(self, document):
        """Deletes what apply_manifest() has returned."""
        resource, _ = self.admin.find_resource(document["apiVersion"], document["kind"])
        self.admin.delete(resource, document["metadata"]["name"], document["metadata"].get("namespace", ""))

    def _apply(self, document, namespace):
        api_version, kind = document["apiVersion"], document["kind"]
        # A kind that a definition in the same file has just added is served a moment later.
        resource, namespaced = wait_for(
            lambda: self.admin.find_resource(api_version, kind), what=f"{kind} of {api_version} to be served"
        )
        if namespaced:
            document["metadata"]["namespace"] = namespace
        for subject in document.get("subjects") or []:
            if subject["kind"] == "ServiceAccount":
                subject["namespace"] = namespace
        return self.admin.apply(resource, document, namespace if namespaced else "")

    # Observation

    def endpointslices(self, namespace, service):
        """The EndpointSlices of a Service."""
        return self.admin.list(ENDPOINT_SLICES, namespace, f"kubernetes.io/service-name={service}")

    def endpoints(self, namespace, service, ip):
        """The entries for this address in all EndpointSlices of a Service."""
        slices = self.endpointslices(namespace, service)
        entries = [entry for each in slices for entry in each.get("endpoints") or []]
        return [entry for entry in entries if ip in entry["addresses"]]

    def is_ready(self, namespace, service, ip):
        """Whether the address is in the Service's slices, with ready=true in each of its entries."""
        entries = self.endpoints(namespace, service, ip)
        return bool(entries) and all(entry["conditions"]["ready"] for entry in entries)

    def is_withdrawn(self, namespace, service, ip):
        """Whether the address is in the Service's slices, with ready=false in each of its entries."""
        entries = self.endpoints(namespace, service, ip)
        return bool(entries) and not any(entry["conditions"]["ready"] for entry in entries)

    def issue_token(self, namespace, service_account, seconds=3600, pod=None):
        """A bearer token of the service account; bound to the life of `pod` (an object) if given."""
        spec = {"expirationSeconds": seconds}
        if pod:
            reference = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"]}
            spec["boundObjectRef"] = {**reference, "uid": pod["metadata"]["uid"]}
        answer = self.admin.create(
            "serviceaccounts", {"spec": spec}, namespace, service_account, subresource="token"
        )
        return answer["status"]["token"]

    def client(self, token):
        """A Client that acts as the token's owner."""
        return Client(HOST, self.port, self.ca_file, token=token)

    def apiserver_metrics(self):
        """Prometheus text."""
        return self.admin.text("/metrics")

    def apiserver_cpu_seconds(self):
        """User and system time that the API server has spent since it was started."""
        return self._apiserver.cpu_seconds()

    def requests_by(self, user):
        """Every Request this user has sent so far, oldest first, watches as soon as they were asked for.

        A request is in the log before it is handled, so whoever has seen an answer finds it here.
        """
        events = map(json.loads, _whole_lines(self._audit_log))
        return [
            _request(event)
            for event in events
            if event["stage"] == "RequestReceived" and event["user"].get("username") == user
        ]


def _etcd_flags(folder, client_port, peer_port):
    client_url, peer_url = f"http://{HOST}:{client_port}", f"http://{HOST}:{peer_port}"
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--socket-reuse-port",
        "--unsafe-no-fsync",
    ]


def _readiness(ready):
    status = "True" if ready else "False"
    return {"conditions": [{"type": kind, "status": status} for kind in ("Ready", "ContainersReady")]}


def _request(event):
    reference = event.get("objectRef", {})
    parts = [reference.get("resource"), reference.get("subresource")]
    return Request(event["verb"], "/".join(part for part in parts if part), event["requestURI"])


def _whole_lines(file):
    """The lines of a file that another process is appending to, without one it has not finished."""
    text = file.read_text(encoding="utf-8")
    return text[: text.rfind("\n") + 1].splitlines()


def _empty_logs(folder):
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("etcd.log", "kube-apiserver.log", "kube-controller-manager.log", "audit.log"):
        (folder / name).write_bytes(b"")
    return folder


def _write_json(file, value):
    file.write_text(json.dumps(value), encoding="utf-8")
    return file
