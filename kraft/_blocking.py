"""`SyncClient` and `SyncAdmin`: the methods of `Client` and `Admin` for programs without an event loop."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from kraft._client import Admin, Client
from metadata_log.offsets import Offset
from quorum.client.client import DEFAULT_TIMEOUT_S
from quorum.client.errors import ClosedError
from quorum.client.loop_thread import LoopThread

C = TypeVar("C", bound=Client | Admin)
P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class _SharedThread(LoopThread):
    """A thread that runs an event loop, which all clients of this process share; it ends with the last of them.

    One loop, because gRPC logs errors where several loops wait for its events.
    """

    _lock = threading.RLock()  # a signal's handler may close a client while another one is made
    _shared: _SharedThread | None = None

    def __init__(self) -> None:
        super().__init__("kraft clients")
        self._users = 0

    @classmethod
    def acquire(cls) -> _SharedThread:
        """Return the thread that runs; `release` it once."""
        with cls._lock:
            if cls._shared is None or not cls._shared.is_here:
                cls._shared = _SharedThread()
            cls._shared._users += 1
            return cls._shared

    def release(self) -> None:
        """End the thread if nothing else uses it."""
        with self._lock:
            self._users -= 1
            if self._users > 0:
                return
            if _SharedThread._shared is self:
                _SharedThread._shared = None
        self.close()


class _Blocking(Generic[C]):
    """An asynchronous client whose calls run in the loop of a thread; usable from any thread.

    A call that Ctrl-C interrupts is cancelled.
    """

    def __init__(self, make: Callable[[], C]) -> None:
        self._thread = _SharedThread.acquire()
        self._lock = threading.RLock()  # a signal's handler may close the client during a call
        self._is_closed = False
        try:
            self._client = self._run(_made(make))
        except BaseException:
            self._thread.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; calls that wait in other threads fail. A second call does nothing.

        Nor does one in a process that was forked since: the connections are its parent's.
        """
        if not self._thread.is_here:
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            closing = self._thread.start(self._client.close())
        try:
            closing.result()
        finally:
            self._thread.release()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        future = self._started(work)
        try:
            return future.result()
        except CancelledError:
            if self._is_closed:
                raise _closed() from None
            raise
        finally:
            future.cancel()  # nothing, unless the wait was interrupted

    def _started(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Hand the work to the loop before it closes the client, or not at all."""
        if not self._thread.is_here:
            work.close()
            raise ClosedError("the client was made before this process was forked: make another one here")
        with self._lock:
            if self._is_closed:
                work.close()
                raise _closed()
            return self._thread.start(work)


def _closed() -> ClosedError:
    return ClosedError("the client has been closed")


async def _made(make: Callable[[], C]) -> C:
    return make()


def _blocking(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the method for a caller that waits."""

    def call(self: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        result: T = self._run(method(self._client, *arguments, **options))
        return result

    functools.update_wrapper(call, method)
    return call


class SyncClient(_Blocking[Client]):
    """`Client` without await: each method returns when the response is there.

    Raises:
        AddressError: `bootstrap` names no controller, or an address is not `host:port`.
    """

    def __init__(self, bootstrap: str | Iterable[str], *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        super().__init__(lambda: Client(bootstrap, timeout_s=timeout_s))

    @property
    def seen_offset(self) -> Offset:
        """The end of the newest image that a response named; see `Client.seen_offset`."""
        return self._client.seen_offset

    alter_partition = _blocking(Client.alter_partition)
    ask = _blocking(Client.ask)
    broker_heartbeat = _blocking(Client.broker_heartbeat)
    change_voters = _blocking(Client.change_voters)
    create_topic = _blocking(Client.create_topic)
    create_topics = _blocking(Client.create_topics)
    delete_topic = _blocking(Client.delete_topic)
    delete_topics = _blocking(Client.delete_topics)
    describe_quorum = _blocking(Client.describe_quorum)
    describe_topics = _blocking(Client.describe_topics)
    list_topics = _blocking(Client.list_topics)
    register_broker = _blocking(Client.register_broker)
    register_controller = _blocking(Client.register_controller)
    transfer_leadership = _blocking(Client.transfer_leadership)
    unregister_controller = _blocking(Client.unregister_controller)


class SyncAdmin(_Blocking[Admin]):
    """`Admin` without await: each method returns when the response is there.

    Raises:
        AddressError: `bootstrap` names no controller, or an address is not `host:port`.
    """

    def __init__(self, bootstrap: str | Iterable[str], *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        super().__init__(lambda: Admin(bootstrap, timeout_s=timeout_s))

    alter_client_quotas = _blocking(Admin.alter_client_quotas)
    alter_user_scram_credentials = _blocking(Admin.alter_user_scram_credentials)
    cluster = _blocking(Admin.cluster)
    create_acls = _blocking(Admin.create_acls)
    create_partitions = _blocking(Admin.create_partitions)
    create_topics = _blocking(Admin.create_topics)
    delete_acls = _blocking(Admin.delete_acls)
    delete_topics = _blocking(Admin.delete_topics)
    describe_acls = _blocking(Admin.describe_acls)
    describe_client_quotas = _blocking(Admin.describe_client_quotas)
    describe_cluster = _blocking(Admin.describe_cluster)
    describe_configs = _blocking(Admin.describe_configs)
    describe_features = _blocking(Admin.describe_features)
    describe_quorum = _blocking(Admin.describe_quorum)
    describe_topics = _blocking(Admin.describe_topics)
    describe_user_scram_credentials = _blocking(Admin.describe_user_scram_credentials)
    incremental_alter_configs = _blocking(Admin.incremental_alter_configs)
    list_topics = _blocking(Admin.list_topics)
    unregister_controller = _blocking(Admin.unregister_controller)
    update_features = _blocking(Admin.update_features)
