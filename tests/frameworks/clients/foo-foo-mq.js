// Messages have no type: it dispatches by the routing key, which `return: headers` keeps.
'use strict';
const rabbit = require('foo-foo-mq');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

const exchange = `${queue}.exchange`;

run({
  name: 'foo-foo-mq',
  async start() {
    rabbit.handle({
      queue, type: 'order.made',
      handler: (message) => {
        const raw = message.content;
        if (succeeds(message.body, { fields: message.fields, properties: message.properties, raw })) message.ack();
        else message.reject();
      },
    });
    const { username, password, hostname, port, pathname } = new URL(uri);
    await rabbit.configure({
      connection: { user: username, pass: password, server: hostname, port, vhost: pathname.slice(1) },
      exchanges: [{ name: exchange, type: 'topic', durable: true, persistent: true }],
      queues: [{ name: queue, durable: true, subscribe: true }],
      bindings: [{ exchange, target: queue, keys: ['order.#'] }],
    });
  },
  publish: (body) => rabbit.publish(exchange, {
    ...properties, type: '', routingKey: 'order.made', body, headers,
  }),
});
