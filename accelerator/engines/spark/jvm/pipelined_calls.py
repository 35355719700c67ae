"""A call into the JVM whose answer is fetched later: the JVM works while Python does.

py4j's calls wait for their answers. A `PipelinedCalls` is a connection of its own, so that other
calls of the same thread may come between a question and its answer. Promises: an answer belongs to
its question; a line that was interrupted between the two is given up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.clientserver import ClientServerConnection, JavaClient
from py4j.java_gateway import JavaGateway
from py4j.protocol import (
    CALL_COMMAND_NAME,
    END_COMMAND_PART,
    RETURN_MESSAGE,
    Py4JError,
    Py4JNetworkError,
    get_return_value,
)


class PipelinedCalls:
    """One question at a time; for one thread.

    `first` is a `Runnable` that the JVM's thread of each new connection runs before anything else.
    """

    def __init__(self, gateway: JavaGateway, first: Any = None) -> None:
        client = gateway._gateway_client
        self._client, self._first = client, first
        self._connection: ClientServerConnection | None = None
        self._usable = isinstance(client, JavaClient)

    def ask(self, target: Any, method: str) -> Callable[[], Any]:
        """Calls a Java object's method without arguments; the function waits for what it gives.

        It's to be called once. Where py4j has no connection of its own per thread
        (PYSPARK_PIN_THREAD=false), the call is made at once. Both raise Py4JError.
        """
        if not self._usable:
            answer = getattr(target, method)()
            return lambda: answer
        try:
            connection = self._connected()
            self._connection = None  # until the answer is read, nobody else may ask
            return self._call(connection, target, method)
        except OSError as error:
            raise Py4JNetworkError(f"a call could not be sent: {error}") from error

    def close(self) -> None:
        """Gives the connection up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> ClientServerConnection:
        if self._connection is None:
            client = self._client
            made = ClientServerConnection(
                client.java_parameters, client.python_parameters, client.gateway_property, client
            )
            made.connect_to_java_server()
            if self._first is not None:
                self._call(made, self._first, "run")()
            self._connection = made
        return self._connection

    def _call(
        self, connection: ClientServerConnection, target: Any, method: str
    ) -> Callable[[], Any]:
        identity = target._get_object_id()
        text = f"{CALL_COMMAND_NAME}{identity}\n{method}\n{END_COMMAND_PART}"
        connection.socket.sendall(text.encode())
        return lambda: self._answer(connection, identity, method)

    def _answer(self, connection: ClientServerConnection, identity: str, method: str) -> Any:
        try:
            line = connection.stream.readline().decode().rstrip("\n")
            if not line.startswith(RETURN_MESSAGE):
                raise Py4JError(f"the JVM answered {line!r}")
            found = get_return_value(line[1:], self._client, identity, method)
        except OSError as error:
            connection.close()
            raise Py4JNetworkError(f"an answer could not be read: {error}") from error
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return found
