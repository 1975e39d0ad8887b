// Rascal with its recovery strategy `republish` and `immediateNack`: for each failure it publishes a copy with the error in
// the headers, rejects that unseen, and calls the handler once x-death tells of one more death in its queue.
'use strict';
const { BrokerAsPromised } = require('rascal');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

const vhost = new URL(uri).pathname.slice(1);
let broker;

/** Its own headers tell how often it has republished. */
function withoutItsOwn(message) {
  const { rascal, ...theirs } = message.properties.headers;
  return { properties: { ...message.properties, headers: theirs }, raw: message.content };
}

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
      if (succeeds(content, withoutItsOwn(message))) return ackOrNack();
      ackOrNack(new Error('not now'), [{ strategy: 'republish', immediateNack: true }]);
    });
    subscription.on('error', console.error);
  },
  async publish(body) {
    const publication = await broker.publish('orders', body, { options: { ...properties, headers } });
    await new Promise((resolve, reject) => publication.on('success', resolve).on('error', reject));
  },
});
