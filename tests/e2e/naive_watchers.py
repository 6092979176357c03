#!/usr/bin/python3
"""Clients that do what lastcall does not: each LISTs the EndpointSlices of a whole namespace and then
WATCHes them for as long as it lives.

Prints one line when all of them watch. For each line on standard input it prints what they have received
since the last one, as JSON: the bytes and the events of all watches together. Ends with its input.
"""

import argparse
import asyncio
import json
import pathlib
import re
import ssl
import sys

# Handshakes under way at once.
CONNECTING_MAX = 20
RESOURCE_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


class Watcher:
    """One client on one connection."""

    received = {"bytes": 0, "events": 0}

    def __init__(self, arguments, tls, token):
        self._arguments = arguments
        self._tls = tls
        self._token = token

    async def begin(self, connecting):
        """Returns once the watch has been accepted."""
        async with connecting:
            host, port = self._arguments.server.split(":")
            self._reader, self._writer = await asyncio.open_connection(host, int(port), ssl=self._tls)
            head = await self._ask("")
            body = b"".join([data async for data in self._body(head)])
            # The list's own version stands before its items.
            version = RESOURCE_VERSION.search(body).group(1).decode()
            self._head = await self._ask(f"?watch=true&allowWatchBookmarks=true&resourceVersion={version}")

    async def watch(self):
        async for data in self._body(self._head):
            Watcher.received["bytes"] += len(data)
            Watcher.received["events"] += data.count(b"\n")

    async def _ask(self, query):
        """Sends a GET and returns the head of its answer, which must be 200."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self._arguments.namespace}/endpointslices{query}"
        self._writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {self._arguments.server}\r\nAccept: application/json\r\n"
            f"Authorization: Bearer {self._token}\r\nUser-Agent: naive-watcher\r\n\r\n".encode()
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        if not head.startswith("http/1.1 200"):
            raise OSError(f"{path}: {head.splitlines()[0]}")
        return head

    async def _body(self, head):
        length = re.search(r"^content-length: (\d+)", head, re.MULTILINE)
        if length:
            yield await self._reader.readexactly(int(length.group(1)))
            return
        while size := int(await self._reader.readline(), 16):
            yield await self._reader.readexactly(size)
            await self._reader.readline()
        await self._reader.readline()


async def run(arguments):
    tls = ssl.create_default_context(cafile=arguments.ca_file)
    tokens = pathlib.Path(arguments.token_file).read_text(encoding="ascii").split()
    watchers = [Watcher(arguments, tls, token) for token in tokens]
    connecting = asyncio.Semaphore(CONNECTING_MAX)
    await asyncio.gather(*(watcher.begin(connecting) for watcher in watchers))
    watching = asyncio.gather(*(watcher.watch() for watcher in watchers))
    print("watching", flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while await reader.readline():
        if watching.done():
            await watching
            raise OSError("the server has ended every watch")
        print(json.dumps(Watcher.received), flush=True)
        Watcher.received.update(bytes=0, events=0)
    watching.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="host:port")
    parser.add_argument("--ca-file", required=True)
    parser.add_argument("--token-file", required=True, help="one token for each client")
    parser.add_argument("--namespace", required=True)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
