"""The mails of the demo, and how often and why the consumer cannot deliver each of them."""
from __future__ import annotations

import math
from dataclasses import dataclass

from pika import BasicProperties

UNTIL_FIXED = math.inf  # waiting does not help: somebody has to fix the consumer


@dataclass(frozen=True)
class Mail:
    id: str
    subject: str
    routing_key: str
    failures: float = 0  # how many attempts fail
    trouble: str = ""    # what the consumer says then

    @property
    def body(self) -> bytes:
        return self.subject.encode()

    @property
    def properties(self) -> BasicProperties:
        """As its producer sets them."""
        return BasicProperties(message_id=self.id, type="mail", content_type="text/plain", delivery_mode=2,
                               correlation_id=f"order of {self.id}", headers={"customer": self.subject.split()[-1]})

    def is_unchanged(self, properties: BasicProperties, body: bytes) -> bool:
        """Whether it is as it was sent. The headers x-… are RabbitMQ's, the headers retryd-… are retryd's."""
        headers = {name: value for name, value in (properties.headers or {}).items()
                   if not name.startswith(("x-", "retryd-"))}
        return body == self.body and vars(properties) | {"headers": headers} == vars(self.properties)


MAILS = (
    Mail("mail 1", "Welcome, Ada", "email.welcome"),
    Mail("mail 2", "Password for Finn", "email.password", 3, "the mail server is busy"),
    Mail("mail 3", "Contract for Eve", "email.contract", UNTIL_FIXED, "bug: there is no template 'contract'"),
    Mail("mail 4", "Receipt for Ben", "email.receipt", 1, "connection reset"),
    Mail("mail 5", "Invoice for Cleo", "email.invoice"),
    Mail("mail 6", "Reminder for Dan", "email.reminder", 2, "the mail server is busy"),
    Mail("mail 7", "Newsletter for Grace", "email.newsletter"),
    Mail("mail 8", "Welcome, Hugo", "email.welcome", 1, "connection reset"),
)
