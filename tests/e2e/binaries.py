"""Builds the programs that the end-to-end tests run against, from their published Go modules.

Each folder named in PROGRAMS holds a wrapper module: its go.mod is the one place that pins what is built
(the `go` line says which Go is needed, the `toolchain` line which one is fetched when this machine has an
older one), its go.sum says what the sources must hash to. Kubernetes needs such a module because its own
go.mod points at staging directories that are not part of the published module.

Finished programs are kept below the cache folder under a key made from the wrapper module and the way of
building, and are reused from there. The cache may be emptied at any time.

Run as a program with the names to build; prints the folders that hold them.
"""

import fcntl
import functools
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
TOOLCHAIN_SECONDS_MAX = 900
BUILD_SECONDS_MAX = 3600


class BuildError(Exception):
    """A program could not be built; the message says what to do or what failed."""


class Wrapper(NamedTuple):
    """A wrapper module: its folder beside this file, the required module whose version names the result,
    and linker flags that tell the programs that version."""

    folder: str
    versioned_by: str
    stamp: str

    def pinned(self, pattern):
        """What go.mod says on the line that `pattern` matches: the pattern's group."""
        text = (HERE / self.folder / "go.mod").read_text(encoding="utf-8")
        match = re.search(rf"^\s*(?:require )?{pattern}", text, re.MULTILINE)
        if not match:
            raise BuildError(f"{self.folder}/go.mod has no line like {pattern}")
        return match.group(1)

    def version(self):
        return self.pinned(rf"{re.escape(self.versioned_by)} v(\S+)")

    def build_flags(self):
        major, minor, _ = self.version().split(".", 2)
        stamp = self.stamp.format(version=self.version(), major=major, minor=minor)
        return ["-mod=readonly", "-trimpath", "-buildvcs=false", f"-ldflags=-s -w {stamp}"]

    def directory(self):
        """Where its finished programs are: another folder for every other content or way of building."""
        digest = hashlib.sha256(" ".join([platform.machine(), *self.build_flags()]).encode())
        for name in ("go.mod", "go.sum"):
            digest.update((HERE / self.folder / name).read_bytes())
        return cache_root() / "e2e" / f"{self.folder}-v{self.version()}-{digest.hexdigest()[:12]}"


class Program(NamedTuple):
    wrapper: Wrapper
    package: str


KUBERNETES = Wrapper(
    folder="kubernetes",
    versioned_by="k8s.io/kubernetes",
    stamp="-X k8s.io/component-base/version.gitVersion=v{version}"
    " -X k8s.io/component-base/version.gitMajor={major}"
    " -X k8s.io/component-base/version.gitMinor={minor}"
    " -X k8s.io/component-base/version.gitTreeState=clean",
)
PROGRAMS = {
    "etcd": Program(KUBERNETES, "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": Program(KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": Program(KUBERNETES, "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": Program(KUBERNETES, "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kube-proxy": Program(KUBERNETES, "k8s.io/kubernetes/cmd/kube-proxy"),
    "kubelet": Program(KUBERNETES, "k8s.io/kubernetes/cmd/kubelet"),
}
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager")


def ensure(*names):
    """Builds what is missing and returns {name: path of the executable}.

    Takes minutes when something has to be built and no time otherwise. Runs of several processes at once
    are safe: the second waits for the first and reuses its work.
    """
    paths = {name: PROGRAMS[name].wrapper.directory() / name for name in names}
    for name, path in paths.items():
        if not path.exists():
            _build_locked(PROGRAMS[name], path)
    return paths


def _build_locked(program, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _build(program, path)


def _build(program, path):
    """Builds into a temporary folder and renames, so that `path` is never half a program."""
    print(f"building {path.name} in {path.parent} (minutes, the first time)", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        result = pathlib.Path(scratch) / path.name
        wrapper, package = program
        command = [_go(wrapper), "build", *wrapper.build_flags(), "-o", result, package]
        _run(command, cwd=HERE / wrapper.folder, seconds_max=BUILD_SECONDS_MAX)
        result.rename(path)


def _run(command, cwd, seconds_max, **kwargs):
    try:
        return subprocess.run(
            command, cwd=cwd, env=_environment(), timeout=seconds_max, check=True, text=True, **kwargs
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{' '.join(map(str, command))}: {error}") from error


def _environment():
    """The user's own Go settings, except for those that would change which Go or which sources are used."""
    environment = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOWORK="off")
    environment.pop("GOROOT", None)
    # Go finds its caches through HOME, which a bare CI shell may lack.
    environment.setdefault("HOME", str(pathlib.Path.home()))
    return environment


def cache_root():
    """The folder for what may be thrown away and is dear to make again."""
    if os.environ.get("LASTCALL_CACHE"):
        return pathlib.Path(os.environ["LASTCALL_CACHE"]).resolve()
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "lastcall"


@functools.lru_cache(maxsize=None)
def _go(wrapper):
    """A go command new enough for the wrapper module: this machine's, else one that an older one fetches."""
    installed = _installed_go()
    if not installed:
        raise BuildError("no Go on this machine, not even an old one: install the package golang-go")
    needed = _version(wrapper.pinned(r"go (\S+)"))
    for command in installed:
        if _version(_output([command, "version"])) >= needed:
            return command
    return _fetched_go(installed[0], wrapper.pinned(r"toolchain (\S+)"))


def _installed_go():
    on_path = shutil.which("go")
    packaged = sorted(pathlib.Path("/usr/lib").glob("go-*/bin/go"))
    return [command for command in (on_path, *packaged) if command]


def _fetched_go(old_go, toolchain):
    """Fetches a toolchain, which is published as a Go module, with a Go too old to switch by itself.

    The old Go checks it against the checksum database as any other module, but leaves it in the module
    cache without execute permission; setting that in place is what newer releases do themselves.
    """
    print(f"fetching {toolchain} with {old_go}", file=sys.stderr, flush=True)
    system, machine = _output([old_go, "env", "GOHOSTOS", "GOHOSTARCH"]).split()
    module = f"golang.org/toolchain@v0.0.1-{toolchain}.{system}-{machine}"
    fetched = json.loads(_output([old_go, "mod", "download", "-json", module]))
    root = pathlib.Path(fetched["Dir"])
    for program in [*root.glob("bin/*"), *root.glob("pkg/tool/*/*")]:
        program.chmod(program.stat().st_mode | 0o111)
    return root / "bin" / "go"


def _output(command):
    # Away from any go.mod, which an old Go might refuse to read.
    return _run(command, cwd="/", seconds_max=TOOLCHAIN_SECONDS_MAX, stdout=subprocess.PIPE).stdout


def _version(text):
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups())


def main(names):
    unknown = sorted(set(names) - set(PROGRAMS))
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; known: {', '.join(PROGRAMS)}")
    try:
        paths = ensure(*(names or CONTROL_PLANE))
    except BuildError as error:
        sys.exit(f"error: {error}")
    for path in paths.values():
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
