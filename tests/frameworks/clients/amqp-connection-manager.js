'use strict';
const manager = require('amqp-connection-manager');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

let channel;

run({
  name: 'amqp-connection-manager',
  async start() {
    channel = manager.connect([uri]).createChannel({ json: true, setup: (one) => one.assertQueue(queue) });
    await channel.waitForConnect();
    await channel.consume(queue, (message) => {
      const done = succeeds(JSON.parse(message.content), { ...message, raw: message.content });
      if (done) channel.ack(message);
      else channel.nack(message, false, false);
    }, { prefetch: 10 });
  },
  publish: (body) => channel.sendToQueue(queue, body, { ...properties, headers }),
});
