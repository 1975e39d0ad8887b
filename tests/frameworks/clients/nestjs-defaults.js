// NestJS with the defaults of its transport, noAck among them, and a handler that throws.
'use strict';
require('reflect-metadata');
const { Controller, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ClientProxyFactory, EventPattern, Payload, Transport } = require('@nestjs/microservices');
const { lastValueFrom } = require('rxjs');
const { uri, queue, succeeds, run } = require('./scenario');

class Orders {
  made(data) {
    succeeds(data);
    throw new Error('not now');
  }
}
Payload()(Orders.prototype, 'made', 0);
EventPattern('order.made')(Orders.prototype, 'made', Object.getOwnPropertyDescriptor(Orders.prototype, 'made'));
Controller()(Orders);
class App {}
Module({ controllers: [Orders] })(App);

const transport = { transport: Transport.RMQ, options: { urls: [uri], queue, queueOptions: { durable: true } } };
let client;

run({
  name: '@nestjs/microservices',
  async start() {
    await (await NestFactory.createMicroservice(App, { ...transport, logger: false })).listen();
    client = ClientProxyFactory.create(transport);
    await client.connect();
  },
  publish: (body) => lastValueFrom(client.emit('order.made', body)),
});
