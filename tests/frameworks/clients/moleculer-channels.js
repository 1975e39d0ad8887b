// Moleculer's own events and requests are never rejected; what it has for messages that must not be lost are its channels.
'use strict';
const { ServiceBroker } = require('moleculer');
const { Middleware } = require('@moleculer/channels');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

const [group, channel] = queue.split('.', 2);
let broker;

run({
  name: '@moleculer/channels',
  async start() {
    broker = new ServiceBroker({
      logger: { type: 'Console', options: { level: 'fatal' } }, transporter: null,
      middlewares: [Middleware({ adapter: { type: 'AMQP', options: { amqp: { url: uri } } } })],
    });
    broker.createService({
      name: 'orders',
      channels: {
        [channel]: {
          group, maxRetries: 0,
          handler(content, raw) {
            if (!succeeds(content, { ...raw, raw: raw.content })) throw new Error('not now');
          },
        },
      },
    });
    await broker.start();
  },
  publish: (body) => broker.sendToChannel(channel, body, {
    headers, publishAssertExchange: { enabled: true }, ...properties,
  }),
});
