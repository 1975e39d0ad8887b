// A node of Moleculer with events that live for 200 ms, and without its own balancer: FRAMEWORKS_LISTENS is a service that
// listens, FRAMEWORKS_TO the service for which another node sends: one event to each node, and one to the group of nodes.
'use strict';
const { ServiceBroker } = require('moleculer');
const { uri, queue, succeeds, run } = require('./scenario');

const { FRAMEWORKS_LISTENS: listens, FRAMEWORKS_TO: to } = process.env;
let broker;

run({
  name: 'moleculer',
  async start() {
    broker = new ServiceBroker({
      nodeID: listens ? 'listens' : 'sends', disableBalancer: true, heartbeatTimeout: 600,
      logger: { type: 'Console', options: { level: 'fatal' } },
      transporter: { type: 'AMQP', options: { url: uri, eventTimeToLive: 200, prefetch: 10 } },
    });
    if (listens) {
      broker.createService({ name: listens, events: { [queue]: (context) => { succeeds(context.params); } } });
    }
    await broker.start();
    if (to) await broker.waitForServices(to);
  },
  async publish(body) {
    await broker.broadcast(queue, body);
    await broker.emit(queue, body);
  },
});
