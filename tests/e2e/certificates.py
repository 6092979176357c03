"""A throw-away certificate authority, made with the openssl program."""

import pathlib
import subprocess
from typing import NamedTuple

VALID_DAYS = 2
SECONDS_MAX = 30


class Pair(NamedTuple):
    """The files of one certificate and its private key (PEM)."""

    certificate: pathlib.Path
    key: pathlib.Path


class Authority:
    """A certificate authority whose files live in `folder` (which must exist)."""

    def __init__(self, folder):
        self._folder = folder
        # Without a configuration of our own, openssl would add the extensions of the system-wide one.
        self._configuration = folder / "openssl.cnf"
        self._configuration.write_text("[req]\ndistinguished_name = subject\n[subject]\n", encoding="ascii")
        usage = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"]
        self._pair = self._request("ca", "/CN=lastcall-e2e", usage, by=[])

    @property
    def certificate(self):
        """The file a client must trust."""
        return self._pair.certificate

    def server(self, name, alternative_names):
        """A serving certificate; alternative names as openssl writes them: `IP:127.0.0.1`, `DNS:name`."""
        usage = ["extendedKeyUsage=serverAuth", f"subjectAltName={','.join(alternative_names)}"]
        return self._signed(name, f"/CN={name}", usage)

    def client(self, user, group):
        """A client certificate that Kubernetes reads as this user in this group."""
        return self._signed(user, f"/O={group}/CN={user}", ["extendedKeyUsage=clientAuth"])

    def expire(self):
        """The certificate of the authority itself has expired; those that it signed have not."""
        _resign(self._pair, ["-signkey", self._pair.key])

    def let_expire(self, pair):
        """A certificate that this authority signed has expired."""
        _resign(pair, ["-CA", self._pair.certificate, "-CAkey", self._pair.key, "-CAcreateserial"])

    def _signed(self, name, subject, extensions):
        by = ["-CA", self._pair.certificate, "-CAkey", self._pair.key]
        return self._request(name, subject, ["authorityKeyIdentifier=keyid", *extensions], by)

    def _request(self, name, subject, extensions, by):
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        command = ["req", "-x509", "-config", self._configuration, "-newkey", "ec", "-nodes"]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-days", str(VALID_DAYS), "-subj", subject]
        for extension in ["subjectKeyIdentifier=hash", *extensions]:
            command += ["-addext", extension]
        _openssl([*command, "-keyout", pair.key, "-out", pair.certificate, *by])
        return pair


def signing_key(folder):
    """A key pair for service account tokens: (private key file, public key file)."""
    private, public = folder / "service-accounts.key", folder / "service-accounts.pub"
    _openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private])
    _openssl(["pkey", "-in", private, "-pubout", "-out", public])
    return private, public


def _resign(pair, by):
    """Replaces the certificate by one that says the same and ran out a day ago."""
    request = pair.certificate.with_suffix(".csr")
    same = ["x509", "-copy_extensions", "copyall"]
    _openssl([*same, "-x509toreq", "-in", pair.certificate, "-signkey", pair.key, "-out", request])
    _openssl([*same, "-req", "-in", request, *by, "-days", "-1", "-out", pair.certificate])


def _openssl(arguments):
    result = subprocess.run(
        ["openssl", *arguments], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    if result.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed: {result.stderr}")
