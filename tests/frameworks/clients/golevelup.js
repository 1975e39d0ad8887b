'use strict';
require('reflect-metadata');
const { AmqpConnection, Nack } = require('@golevelup/nestjs-rabbitmq');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

const exchange = `${queue}.exchange`;
let connection;

run({
  name: '@golevelup/nestjs-rabbitmq',
  async start() {
    connection = new AmqpConnection({ uri, exchanges: [{ name: exchange, type: 'topic' }], connectionInitOptions: { wait: true } });
    await connection.init();
    await connection.createSubscriber(
      async (content, message) =>
        succeeds(content, { ...message, raw: message.content }) ? undefined : new Nack(false),
      { exchange, routingKey: 'order.made', queue }, 'made');
  },
  publish: (body) => connection.publish(exchange, 'order.made', body, { ...properties, headers }),
});
