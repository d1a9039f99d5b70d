"""The least that a function can do: what comes goes back. A plain socket: the emulator is what is measured."""

import socket
import time
from os import environ

host, port = environ["AWS_LAMBDA_RUNTIME_API"].split(":")
connection = socket.create_connection((host, int(port)))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
unread = b""
pause = float(environ.get("ECHO_SECONDS", "0"))


def answer() -> tuple[bytes, bytes]:
    """Head and body of the next response."""
    global unread  # noqa: PLW0603 - one connection, one loop
    while b"\r\n\r\n" not in unread:
        unread += receive()
    head, _, unread = unread.partition(b"\r\n\r\n")
    size = next((int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"), 0)
    while len(unread) < size:
        unread += receive()
    body, unread = unread[:size], unread[size:]
    return head, body


def receive() -> bytes:
    data = connection.recv(1 << 16)
    if not data:
        raise SystemExit(0)
    return data


while True:
    connection.sendall(b"GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n")
    head, body = answer()
    request_id = next(
        line[30:].strip() for line in head.split(b"\r\n") if line[:30].lower() == b"lambda-runtime-aws-request-id:"
    )
    if pause:
        time.sleep(pause)
    path = b"/2018-06-01/runtime/invocation/" + request_id + b"/response"
    connection.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    answer()
