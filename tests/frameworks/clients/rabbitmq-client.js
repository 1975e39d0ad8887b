'use strict';
const { Connection } = require('rabbitmq-client');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

let publisher;
// It writes the types that JavaScript tells apart, and none by name.
const { when, byte, float, decimal, ...plain } = headers;

run({
  name: 'rabbitmq-client',
  async start() {
    const connection = new Connection(uri);
    const consumer = connection.createConsumer({ queue, queueOptions: { durable: true }, requeue: false }, async (message) => {
      const { body, headers: theirs, exchange, routingKey, redelivered, consumerTag, deliveryTag, ...rest } = message;
      const fields = { exchange, routingKey, redelivered };
      if (!succeeds(body, { fields, properties: { ...rest, headers: theirs } })) throw new Error('not now');
    });
    consumer.on('error', () => {}); // each failure is one
    await new Promise((resolve) => consumer.once('ready', resolve));
    publisher = connection.createPublisher({ confirm: true });
  },
  publish: ({ persistent, ...body }) => publisher.send(
    { ...properties, persistent: undefined, durable: true, routingKey: queue, headers: { ...plain, when: new Date(1700000000000) } }, body),
});
