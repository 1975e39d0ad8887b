'use strict';
const { BrokerAsPromised } = require('rascal');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

const vhost = new URL(uri).pathname.slice(1);
let broker;

run({
  name: 'rascal',
  async start() {
    broker = await BrokerAsPromised.create({
      vhosts: {
        [vhost]: {
          connection: uri,
          exchanges: [`${queue}.exchange`],
          queues: [queue],
          bindings: [`${queue}.exchange[order.made] -> ${queue}`],
          publications: { orders: { exchange: `${queue}.exchange`, routingKey: 'order.made' } },
          subscriptions: { orders: { queue } },
        },
      },
    });
    broker.on('error', console.error);
    const subscription = await broker.subscribe('orders');
    subscription.on('message', (message, content, ackOrNack) => {
      const done = succeeds(content, { ...message, raw: message.content });
      ackOrNack(done ? undefined : new Error('not now')); // its default for an error: nack without requeue
    });
    subscription.on('error', console.error);
  },
  async publish(body) {
    const publication = await broker.publish('orders', body, { options: { ...properties, headers } });
    await new Promise((resolve, reject) => publication.on('success', resolve).on('error', reject));
  },
});
