'use strict';
require('reflect-metadata');
const { Controller, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ClientProxyFactory, Ctx, EventPattern, Payload, RmqRecordBuilder, Transport } = require('@nestjs/microservices');
const { lastValueFrom } = require('rxjs');
const { uri, queue, headers, properties, succeeds, run } = require('./scenario');

class Orders {
  made(data, context) {
    const message = context.getMessage();
    const channel = context.getChannelRef();
    if (succeeds(data, { ...message, raw: message.content })) channel.ack(message);
    else channel.nack(message, false, false);
  }
}
// What `@EventPattern('order.made') made(@Payload() data, @Ctx() context)` compiles to.
Payload()(Orders.prototype, 'made', 0);
Ctx()(Orders.prototype, 'made', 1);
EventPattern('order.made')(Orders.prototype, 'made', Object.getOwnPropertyDescriptor(Orders.prototype, 'made'));
Controller()(Orders);
class App {}
Module({ controllers: [Orders] })(App);

const transport = { transport: Transport.RMQ, options: { urls: [uri], queue, noAck: false, queueOptions: { durable: true } } };
let client;

run({
  name: '@nestjs/microservices',
  async start() {
    const app = await NestFactory.createMicroservice(App, { ...transport, logger: ['error'] });
    await app.listen();
    client = ClientProxyFactory.create({ ...transport, options: { ...transport.options, noAck: true } });
    await client.connect();
  },
  publish: (body) => lastValueFrom(
    client.emit('order.made', new RmqRecordBuilder(body).setOptions({ ...properties, headers }).build())),
});
