// amqplib, whose handler always fails: it rejects, or calls nack() and leaves out that nothing is to be requeued
// (FRAMEWORKS_REQUEUES).
'use strict';
const amqp = require('amqplib');
const { uri, queue, succeeds, run } = require('./scenario');

let channel;

run({
  name: 'amqplib',
  async start() {
    channel = await (await amqp.connect(uri)).createConfirmChannel();
    await channel.checkQueue(queue);
    await channel.prefetch(10);
    await channel.consume(queue, (message) => {
      if (process.env.FRAMEWORKS_REQUEUES) return channel.nack(message);
      succeeds(JSON.parse(message.content));
      return channel.nack(message, false, false);
    });
  },
  async publish(body) {
    channel.sendToQueue(queue, Buffer.from(JSON.stringify(body)), { persistent: true });
    await channel.waitForConfirms();
  },
});
