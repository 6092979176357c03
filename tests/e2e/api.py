"""A small client of the Kubernetes API: JSON over HTTPS, one connection per request.

A resource is written as its plural with group and version in front unless it is in core/v1: "pods",
"discovery.k8s.io/v1/endpointslices".
"""

import contextlib
import http.client
import json
import ssl
import urllib.parse

TIMEOUT_SECONDS = 15
ENDPOINT_SLICES = "discovery.k8s.io/v1/endpointslices"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiError(Exception):
    """The server answered with an error status."""

    def __init__(self, status, reason, message):
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason


def path(resource, namespace="", name="", subresource=""):
    """The URL path of a collection, an object or a subresource."""
    group_version, _, plural = resource.rpartition("/")
    parts = ["/apis", group_version] if group_version else ["/api/v1"]
    if namespace:
        parts += ["namespaces", namespace]
    return "/".join(part for part in [*parts, plural, name, subresource] if part)


class Client:
    """Talks to one API server as one user, who is known by a client certificate or by a bearer token.

    Every call returns the decoded answer and raises ApiError for an error status and OSError or
    http.client.HTTPException when no answer came within TIMEOUT_SECONDS.
    """

    def __init__(self, host, port, ca_file, certificate=None, token=None):
        self._address = (host, port)
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        if certificate:
            self._tls.load_cert_chain(certificate.certificate, certificate.key)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def request(self, method, url_path, body=None, content_type="application/json", **query):
        """Sends one request; parameters that are None or empty are left out of the query."""
        given = {key: value for key, value in query.items() if value not in (None, "")}
        target = url_path + (f"?{urllib.parse.urlencode(given)}" if given else "")
        payload = None if body is None else json.dumps(body)
        headers = {**self._headers, "Accept": "application/json", "Content-Type": content_type}
        status, answer = self._exchange(method, target, payload, headers)
        return _decode(status, answer)

    def _exchange(self, method, target, payload, headers):
        """Returns (status, body)."""
        with contextlib.closing(self._connection()) as connection:
            connection.request(method, target, payload, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def _connection(self):
        return http.client.HTTPSConnection(*self._address, timeout=TIMEOUT_SECONDS, context=self._tls)

    def text(self, url_path):
        """What the server answers there, which need not be JSON."""
        status, answer = self._exchange("GET", url_path, None, {**self._headers, "Accept": "text/plain"})
        if status >= 400:
            raise ApiError(status, "", answer.decode())
        return answer.decode()

    def get(self, resource, name, namespace="", subresource=""):
        return self.request("GET", path(resource, namespace, name, subresource))

    def list(self, resource, namespace="", label_selector=""):
        """The items of a consistent LIST."""
        return self.request("GET", path(resource, namespace), labelSelector=label_selector)["items"]

    def create(self, resource, body, namespace="", name="", subresource=""):
        return self.request("POST", path(resource, namespace, name, subresource), body)

    def patch(self, resource, name, body, namespace="", subresource="", content_type=MERGE_PATCH):
        return self.request("PATCH", path(resource, namespace, name, subresource), body, content_type)

    def delete(self, resource, name, namespace="", grace=None):
        """`grace` in seconds; None leaves it to the object."""
        return self.request("DELETE", path(resource, namespace, name), gracePeriodSeconds=grace)

    def delete_all(self, resource, namespace, label_selector="", grace=None):
        """Deletes every object of a namespace, or those with these labels, in one request."""
        target = path(resource, namespace)
        return self.request("DELETE", target, labelSelector=label_selector, gracePeriodSeconds=grace)

    def apply(self, resource, body, namespace=""):
        """Creates the object, or makes the existing one look like it."""
        target = path(resource, namespace, body["metadata"]["name"])
        return self.request("PATCH", target, body, APPLY_PATCH, fieldManager="lastcall-e2e", force="true")

    def find_resource(self, api_version, kind):
        """(resource, whether it is namespaced) of a kind, or None while the server does not serve it."""
        root = "/apis" if "/" in api_version else "/api"
        try:
            served = self.request("GET", f"{root}/{api_version}")["resources"]
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        for entry in served:
            if entry["kind"] == kind and "/" not in entry["name"]:
                prefix = f"{api_version}/" if "/" in api_version else ""
                return prefix + entry["name"], entry["namespaced"]
        return None


def _decode(status, body):
    text = body.decode()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {"message": text}
    if status >= 400:
        raise ApiError(status, answer.get("reason", ""), answer.get("message", text))
    return answer
