"""An API server that lies, stalls and babbles when told to, and is honest otherwise.

It knows one namespace with one pod, one Service that selects it, and one EndpointSlice. It needs no
Kubernetes: what it answers when it is honest is the little that the agent asks for.
"""

import contextlib
import json
import socket
import ssl
import threading
import time
import urllib.parse

from certificates import Authority
from processes import ReservedPort

HOST = "127.0.0.1"
CONNECTIONS_MAX = 64
HEAD_BYTES_MAX = 65536
HANDSHAKE_SECONDS_MAX = 10
# How long a watch or a stalled answer lives when nobody ends it.
STAY_SECONDS_MAX = 120
BABBLE_BYTES_MAX = 200 * 1024 * 1024

NAMESPACE, POD, SERVICE, SLICE = "hostile", "web-1", "web", "web-abcde"
UID = "0e5b0b8c-6a4c-4d5e-9b1f-1f2e3d4c5b6a"
ADDRESS, NODE = "10.1.0.1", "node-a"
GRACE_SECONDS = 60
KINDS = {
    "pods": ("v1", "Pod"),
    "services": ("v1", "Service"),
    "endpointslices": ("discovery.k8s.io/v1", "EndpointSlice"),
}
ISO = "%Y-%m-%dT%H:%M:%SZ"


class HostileServer:
    """Context manager; inside it the server listens, after it no connection and no thread is left.

    For an Agent it is a control plane: `url`, `ca_file`, issue_token(). `requests` holds what has been
    asked: pairs of a kind and the bearer token. A kind is the plural of what is read, or "watch" for a
    watch of anything.
    """

    def __init__(self, folder):
        self.authority = Authority(folder)
        self.ca_file = self.authority.certificate
        self.certificate = self.authority.server("hostile", [f"IP:{HOST}"])
        self.pod = {"metadata": {"name": POD, "namespace": NAMESPACE, "uid": UID}}
        self.tokens = {"first"}
        self.requests = []
        self._behaviours = {}
        self._condition = threading.Condition()
        self._version = 1
        self._deletion = None
        self._withdrawn = False
        self._connections = {}
        self._listener = None

    def __enter__(self):
        self._port = ReservedPort()
        self.url = f"https://{HOST}:{self._port.number}"
        self.open()
        return self

    def __exit__(self, *_):
        self.close()
        self._port.close()

    def issue_token(self, namespace, service_account, pod=None):
        return next(iter(self.tokens))

    # What it does

    def open(self):
        """Listens, with `certificate` as it is now. No-op while it listens."""
        if self._listener:
            return
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate.certificate, self.certificate.key)
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._listener.bind((HOST, self._port.number))
        self._listener.listen(CONNECTIONS_MAX)
        self._acceptor = threading.Thread(target=self._accept, args=(self._listener, tls), daemon=True)
        self._acceptor.start()

    def close(self):
        """Connections are cut, and from now on refused. No-op while it does not listen."""
        if not self._listener:
            return
        _cut(self._listener)
        self._acceptor.join(HANDSHAKE_SECONDS_MAX)
        self._listener.close()
        self._listener = None
        self.cut()

    def cut(self):
        """Cuts all connections."""
        with self._condition:
            connections = dict(self._connections)
        for thread, connection in connections.items():
            _cut(connection)
            thread.join(HANDSHAKE_SECONDS_MAX)

    def misbehave(self, behaviour, *kinds):
        """Answers requests of these kinds by the behaviour, a function of an Exchange; all, if none is
        named. None: honestly again."""
        for kind in kinds or (*KINDS, "watch"):
            self._behaviours[kind] = behaviour

    # What there is

    def delete_pod(self):
        """The pod is terminating; its slice does not show it before withdraw()."""
        with self._condition:
            self._deletion = time.gmtime(time.time() + GRACE_SECONDS)

    def withdraw(self):
        """The slice says ready=false, and watches are told."""
        with self._condition:
            self._withdrawn = True
            self._version += 1
            self._condition.notify_all()

    @property
    def version(self):
        """The resourceVersion of the slice, and of any list."""
        return self._version

    def wait_for_change(self, version, seconds):
        """Returns the version once it is another than this one, or after so many seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._version != version, seconds)
            return self._version

    def objects(self, kind):
        """What is there of a kind, without kind and apiVersion."""
        if kind == "pods":
            return [self._pod_object()]
        if kind == "services":
            metadata = {"name": SERVICE, "namespace": NAMESPACE}
            return [{"metadata": metadata, "spec": {"selector": {"app": "web"}, "clusterIP": "10.96.0.9"}}]
        return [self._slice_object()]

    def _pod_object(self):
        metadata = {**self.pod["metadata"], "labels": {"app": "web"}, "resourceVersion": "1"}
        if self._deletion:
            metadata["deletionTimestamp"] = time.strftime(ISO, self._deletion)
            metadata["deletionGracePeriodSeconds"] = GRACE_SECONDS
        containers = [{"name": "main", "ports": [{"name": "http", "containerPort": 8080}]}]
        spec = {"nodeName": NODE, "terminationGracePeriodSeconds": GRACE_SECONDS, "containers": containers}
        status = {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
        return {"metadata": metadata, "spec": spec, "status": status}

    def _slice_object(self):
        gone = self._withdrawn
        ours = {
            "addresses": [ADDRESS],
            "conditions": {"ready": not gone, "serving": True, "terminating": gone},
            "nodeName": NODE,
            "targetRef": {"kind": "Pod", "name": POD, "namespace": NAMESPACE, "uid": UID},
        }
        return slice_of(SLICE, SERVICE, [ours, others_endpoint("web-2", "10.1.0.2")], str(self._version))

    # How it serves

    def _accept(self, listener, tls):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            peer = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            with self._condition:
                if len(self._connections) >= CONNECTIONS_MAX:
                    peer.close()
                    continue
                thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
                self._connections[thread] = peer
            thread.start()

    def _serve(self, peer):
        # The peer may have gone, or not trust us, or be cut: that ends the connection and nothing else.
        with contextlib.suppress(OSError), contextlib.closing(peer):
            peer.settimeout(HANDSHAKE_SECONDS_MAX)
            peer.do_handshake()
            peer.settimeout(STAY_SECONDS_MAX)
            while self._serve_one(peer):
                pass
        with self._condition:
            del self._connections[threading.current_thread()]

    def _serve_one(self, peer):
        """Returns whether the connection can serve another request."""
        head = _read_head(peer)
        if not head:
            return False
        request_line, *lines = head.split("\r\n")
        _, target, _ = request_line.split(" ")
        fields = (line.split(": ", 1) for line in lines)
        headers = {name.lower(): value for name, value in fields}
        _read_exactly(peer, int(headers.get("content-length", 0)))
        exchange = Exchange(self, peer, target, headers.get("authorization", "").removeprefix("Bearer "))
        self.requests.append((exchange.kind, exchange.token))
        behaviour = self._behaviours.get(exchange.kind) or honest
        behaviour(exchange)
        return exchange.complete


class Exchange:
    """One request and what is sent in answer to it.

    After answer() the connection goes on; after anything else it is closed.
    """

    def __init__(self, server, peer, target, token):
        self.server = server
        self.token = token
        self.complete = False
        self._peer = peer
        url = urllib.parse.urlsplit(target)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        parts = url.path.strip("/").split("/")
        plural = next((part for part in parts if part in KINDS), "")
        self.plural = plural
        self.is_collection = parts[-1] == plural
        self.kind = "watch" if self.query.get("watch") == "true" else plural

    def send(self, data):
        self._peer.sendall(data)

    def head(self, status=200, content_type="application/json", length=None):
        """Sends the head of an answer; without a length it ends with the connection."""
        framing = "Connection: close" if length is None else f"Content-Length: {length}"
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        self.send(
            f"HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\nDate: {date}\r\n"
            f"{framing}\r\n\r\n".encode()
        )

    def answer(self, body, status=200, content_type="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.head(status, content_type, len(data))
        self.send(data)
        self.complete = True

    def refuse(self, status, reason):
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason}
        self.answer({**body, "message": reason, "code": status}, status)

    def document(self):
        """What an honest answer says, as bytes."""
        group_version, kind = KINDS[self.plural]
        objects = self.server.objects(self.plural)
        if not self.is_collection:
            return json.dumps({"kind": kind, "apiVersion": group_version, **objects[0]}).encode()
        metadata = {"resourceVersion": str(self.server.version)}
        listing = {"kind": f"{kind}List", "apiVersion": group_version, "metadata": metadata}
        return json.dumps({**listing, "items": objects}).encode()

    def stay(self):
        """Says nothing until the peer has gone, the server cuts the connection, or time runs out."""
        with contextlib.suppress(OSError):
            self._peer.recv(1)

    def gone(self):
        """Whether the peer has gone, or the server has cut the connection."""
        self._peer.settimeout(0.05)
        try:
            return self._peer.recv(1) == b""
        except TimeoutError:
            return False
        finally:
            self._peer.settimeout(STAY_SECONDS_MAX)


def slice_of(name, service, endpoints, version="1"):
    labels = {
        "kubernetes.io/service-name": service,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "resourceVersion": version},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": endpoints,
    }


def others_endpoint(name, address):
    return {
        "addresses": [address],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": NODE,
        "targetRef": {"kind": "Pod", "name": name, "namespace": NAMESPACE, "uid": f"uid-of-{name}"},
    }


# Behaviours: functions of an Exchange


def honest(exchange):
    if exchange.token not in exchange.server.tokens:
        return exchange.refuse(401, "Unauthorized")
    if not exchange.plural:
        return exchange.refuse(404, "NotFound")
    if exchange.kind == "watch":
        return _watch(exchange)
    return exchange.answer(exchange.document())


def _watch(exchange):
    """Tells of each change of the slice; other objects never change."""
    version = int(exchange.query["resourceVersion"])
    group_version, kind = KINDS[exchange.plural]
    exchange.head()
    until = time.monotonic() + STAY_SECONDS_MAX
    while time.monotonic() < until and not exchange.gone():
        seen = exchange.server.wait_for_change(version, 0.5)
        if seen != version and exchange.plural == "endpointslices":
            (changed,) = exchange.server.objects(exchange.plural)
            typed = {"kind": kind, "apiVersion": group_version, **changed}
            exchange.send(json.dumps({"type": "MODIFIED", "object": typed}).encode() + b"\n")
        version = seen


def silent(exchange):
    exchange.stay()


def closing(exchange):
    """No answer at all."""


def garbage(exchange):
    exchange.send(bytes(range(256)) * 16)


def html(exchange):
    exchange.answer(b"<html><body>Please log in</body></html>", content_type="text/html")


def plain_text(exchange):
    exchange.answer(exchange.document(), content_type="text/plain")


def truncated(exchange):
    """A well-framed answer that holds half of a document."""
    document = exchange.document()
    exchange.answer(document[: len(document) // 2])


def cut_short(exchange):
    """An answer that ends in the middle."""
    document = exchange.document()
    exchange.head(length=len(document))
    exchange.send(document[: len(document) // 2])


def not_json(exchange):
    """What is announced as JSON is none."""
    exchange.answer(b"kind: Pod\nmetadata: {}\n" * 100)


def endless_line(exchange):
    """One string without an end, as an object or as a watch event."""
    exchange.head()
    exchange.send(b'{"kind":"EndpointSliceList","items":[{"metadata":{"name":"')
    for _ in range(BABBLE_BYTES_MAX // len(_BABBLE)):
        exchange.send(_BABBLE)


def endless_list(exchange):
    """A gigabyte of small, valid items, and the honest ones last."""
    honest_items = json.dumps(exchange.server.objects(exchange.plural))[1:]
    filler = slice_of("filler", "another", [others_endpoint("filler", "10.2.0.1")])
    block = b"".join(json.dumps(filler).encode() + b"," for _ in range(2000))
    exchange.head()
    exchange.send(b'{"kind":"EndpointSliceList","metadata":{"resourceVersion":"1"},"items":[')
    for _ in range(2**30 // len(block) + 1):
        exchange.send(block)
    exchange.send(honest_items.encode() + b"}")


def internal_error(exchange):
    exchange.refuse(500, "InternalError")


def forbidden(exchange):
    exchange.refuse(403, "Forbidden")


_BABBLE = b"x" * 2**20


def _read_head(peer):
    """The head of a request without its empty line; "" when there is no further one."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = peer.recv(1)
        if not byte or len(data) > HEAD_BYTES_MAX:
            return ""
        data += byte
    return data[:-4].decode()


def _read_exactly(peer, count):
    while count > 0:
        data = peer.recv(min(count, 65536))
        if not data:
            raise OSError("the request was cut short")
        count -= len(data)


def _cut(connection):
    # The plain shutdown: the TLS one would leave a thread that reads without its TLS.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
