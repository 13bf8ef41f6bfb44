"""Network addresses at which workers listen."""

from __future__ import annotations

import socket
import time

from rankwood._core import WorkerError


def bracketed(host: str) -> str:
    """Returns a host as it is written before a port."""
    return f"[{host}]" if ":" in host else host


def free_address(host: str) -> str:
    """Returns HOST:PORT with a port that is currently free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.bind(("", 0))
        return f"{bracketed(host)}:{one.getsockname()[1]}"


def resolved(host: str, seconds: float) -> str:
    """Returns a numeric address of a machine, whose name may become known only after a while."""
    until = time.monotonic() + seconds
    while True:
        try:
            return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
        except OSError as error:
            if time.monotonic() > until:
                raise WorkerError(f"the address of {host!r} is unknown: {error}") from error
            time.sleep(0.5)


def own_address(to: str) -> str:
    """Returns the address of this machine from which it reaches another one."""
    with socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect((to, 9))  # this sends nothing
        except OSError as error:
            raise WorkerError(f"this machine cannot reach {to}: {error}") from error
        return str(one.getsockname()[0])
