"""A small HTTP server on loopback, in a thread of its own: what it answers is the test's affair, byte for byte."""

import asyncio
import re
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest

#: the number of the request, from 0, and its bytes; the bytes of the answer, or none to hang up
Answer = Callable[[int, bytes], Awaitable[bytes]]


class Server:
    def __init__(self, answer: Answer, tls: ssl.SSLContext | None) -> None:
        self._answer = answer
        self._tls = tls
        self._count = 0
        self._loop = asyncio.new_event_loop()
        self._up = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()))
        self._thread.start()
        assert self._up.wait(5)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0, backlog=1024, ssl=self._tls)
        host, port = server.sockets[0].getsockname()
        self.url = f"{'https' if self._tls else 'http'}://{host}:{port}"
        self._up.set()
        await self._over.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                number, self._count = self._count, self._count + 1
                reply = await self._answer(number, head + body)
                writer.write(reply)
                await writer.drain()
                if not reply or b"onnection: close" in reply:
                    break
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start a server; what it is reached by comes back."""
    running: list[Server] = []

    def start(answer: Answer, tls: ssl.SSLContext | None = None) -> str:
        running.append(Server(answer, tls))
        return running[-1].url

    yield start
    for server in running:
        server.close()
