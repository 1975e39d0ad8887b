'use strict';
const amqp = require('amqplib');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

let channel;

run({
  name: 'amqplib',
  async start() {
    channel = await (await amqp.connect(uri)).createConfirmChannel();
    await channel.assertQueue(queue);
    await channel.prefetch(10);
    await channel.consume(queue, (message) => {
      const done = succeeds(JSON.parse(message.content), { ...message, raw: message.content });
      if (done) channel.ack(message);
      else channel.nack(message, false, false);
    });
  },
  async publish(body) {
    channel.sendToQueue(queue, Buffer.from(JSON.stringify(body)), { ...properties, headers });
    await channel.waitForConfirms();
  },
});
