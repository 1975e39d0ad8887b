"""aio-pika: messages are processed in `process()`, which rejects when there is an exception."""
import asyncio
import importlib.metadata
import json

import aio_pika
from scenario import HEADERS, MESSAGES, PROPERTIES, QUEUE, URI, body_of, on_command, ready, succeeds

HEADERS.pop("negative")  # Debian's pamqp 3.2.1 cannot write it
NAMES = [name for name in PROPERTIES if name not in ("delivery_mode",)]


async def on_message(message):
    async with message.process(requeue=False):
        properties = {name: getattr(message, name) for name in [*NAMES, "expiration", "user_id"]}
        properties["delivery_mode"] = int(message.delivery_mode)
        if not succeeds(json.loads(message.body), properties, dict(message.headers), message.body,
                        exchange=message.exchange, key=message.routing_key, redelivered=message.redelivered):
            raise RuntimeError("not now")


async def publish(channel):
    for message in MESSAGES:
        await channel.default_exchange.publish(
            aio_pika.Message(json.dumps(body_of(message)).encode(), headers=HEADERS, **PROPERTIES), QUEUE)


async def main():
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # each failure is one
    connection = await aio_pika.connect_robust(URI)
    channel = await connection.channel()
    await channel.set_qos(10)
    queue = await channel.declare_queue(QUEUE, durable=True)
    await queue.consume(on_message)
    loop = asyncio.get_running_loop()
    on_command(lambda: asyncio.run_coroutine_threadsafe(publish(channel), loop).result())
    ready(importlib.metadata.version("aio-pika"))
    await asyncio.Future()


asyncio.run(main())
