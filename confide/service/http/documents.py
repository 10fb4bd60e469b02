"""Public documents that are known by their hash, in memory as they are sent: policies and questions.

Devices ask for a policy more often than for anything else. One that was read before is answered from here, by the connection
itself: the request must be one whole GET without a body, or the web server reads it as any other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from .origins import answer_headers

FOREVER = "public, max-age=31536000, immutable"
"""How long others may keep a document."""
MOST_BYTES = 1 << 26
_OK, _UNCHANGED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 304 Not Modified\r\n"
_OTHERS = (
    b"\ncontent-length:",
    b"\ntransfer-encoding:",
    b"\nupgrade:",
    b"\nexpect:",
    b"\nrange:",
    b"\n ",
    b"\n\t",
    b"\x00",
)
"""What the head of a request may not have to be answered from memory."""


class CachedDocument(NamedTuple):
    """A document: its tag, and what follows the first line of a response that has it, or says that it is unchanged."""

    tag: bytes
    whole: bytes
    unchanged: bytes


class DocumentCache:
    """Documents by their address; whichever was not asked for longest is forgotten first, beyond this many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._size = most_bytes, 0
        self._kept: OrderedDict[bytes, CachedDocument] = OrderedDict()
        self._lock = threading.Lock()

    def response(self, request: Request, body: bytes, media_type: str) -> Response:
        """The response with a document whose address ends with its hash; from now on it is in memory."""
        path = request.url.path
        tag = path.rsplit("/", 1)[1]
        self.keep(path, body, media_type, tag)
        headers = {"Cache-Control": FOREVER, "ETag": f'"{tag}"'}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=media_type, headers=headers)

    def keep(self, path: str, body: bytes, media_type: str, tag: str) -> None:
        """Keep a document that will never change under its address."""
        fixed = {"content-type": media_type, "cache-control": FOREVER, "etag": f'"{tag}"'}
        lines = [b"%b: %b\r\n" % (name.encode(), value.encode()) for name, value in fixed.items()]
        lines += [b"%b: %b\r\n" % pair for pair in answer_headers(path)]
        head = b"".join(lines)
        document = CachedDocument(
            f'"{tag}"'.encode(), head + b"content-length: %d\r\n\r\n" % len(body) + body, head + b"\r\n"
        )
        with self._lock:
            if path.encode() in self._kept or len(document.whole) > self._most // 2:
                return
            self._kept[path.encode()] = document
            self._size += len(document.whole)
            while self._size > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._size -= len(oldest.whole)

    def answer(self, request: bytes) -> tuple[bytes, bytes] | None:
        """The first line and the rest of the response to a request, or None: then it must be read as any other."""
        end = request.find(b" HTTP/1.1\r\n", 4, 200)
        if end < 0 or not request.startswith(b"GET "):
            return None
        path = request[4:end]
        document = self._kept.get(path)
        if document is None or request.find(b"\r\n\r\n") != len(request) - 4:
            return None
        head = request[end:].lower()
        plain = head.count(b"\n") == head.count(b"\r\n") and not any(other in head for other in _OTHERS)
        kept_open = b"\nconnection:" not in head or b"\nconnection: keep-alive\r\n" in head
        if not (plain and kept_open and b"\nhost:" in head):
            return None
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
        _, known, after = head.partition(b"\nif-none-match:")
        if known and document.tag in after.partition(b"\r\n")[0]:
            return _UNCHANGED, document.unchanged
        return _OK, document.whole
