"""How many structs a parsed request holds, found before it is converted: as many as at the Kafka listener at most.

Decides: which requests are refused for it. Must not know: what is asked.
"""

from __future__ import annotations

from google.protobuf.message import Message

from quorum.api.error_codes import Error
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.kafka.reader import MAX_ELEMENTS, NUMBERS_AN_ELEMENT


def check_elements(message: Message, most: int = MAX_ELEMENTS) -> None:
    """Count the structs in a message, of all depths; numbers and texts in lists count as a fraction of one.

    The count of a list is known before its elements are visited, so that few are visited in vain.

    Raises:
        BadMessage: there are more than `most`.
    """
    count = 0
    waiting = [message]
    while waiting:
        for field, value in waiting.pop().ListFields():
            is_struct = field.message_type is not None
            if field.is_repeated:
                count += len(value) if is_struct else len(value) // NUMBERS_AN_ELEMENT
            if count > most:
                raise BadMessage(Error.INVALID_REQUEST, f"the request holds more than {most} elements: divide it")
            if is_struct and field.is_repeated:
                waiting.extend(value)
            elif is_struct:
                waiting.append(value)
