'use strict';
const rhea = require('rhea');
const { queue, succeeds, run } = require('./scenario');

const target = new URL(process.env.FRAMEWORKS_URI);
const verdicts = JSON.parse(process.env.FRAMEWORKS_VERDICTS || '{}'); // by name: the annotations of `modified`
const address = `/queues/${queue}`;
let sender;

function settle(message, delivery) {
  // What a delivery is, first or not, is the broker's to say.
  const { body, application_properties: headers, first_acquirer, delivery_count, ...properties } = message;
  const content = JSON.parse(Buffer.isBuffer(body) ? body : body.content);
  if (succeeds(content, { properties: { ...properties, headers } })) delivery.accept();
  else if (verdicts[content.name]) {
    delivery.modified({ undeliverable_here: true, message_annotations: verdicts[content.name] });
  } else delivery.reject();
}

run({
  name: 'rhea',
  async start() {
    const connection = rhea.create_container().connect({
      host: target.hostname, port: target.port, username: target.username, password: target.password,
      hostname: `vhost:${target.pathname.slice(1)}`,
    });
    const receiver = connection.open_receiver({ source: address, autoaccept: false, credit_window: 10 });
    // Each in a turn of its own: of two that are settled in one turn, rhea 3.0.5 tells the broker the first one's outcome for both
    // (lib/session.js, write_dispositions). One at a time (credit_window: 1) is no way out with RabbitMQ before 4.2, which
    // begins to count at 4294967291: rhea does not look at that (initial-delivery-count), and one credit becomes six.
    receiver.on('message', ({ message, delivery }) => setImmediate(() => settle(message, delivery)));
    sender = connection.open_sender({ target: address });
    await Promise.all([receiver, sender].map((link) => new Promise((resolve) => link.once(link === sender ? 'sendable' : 'receiver_open', resolve))));
  },
  publish(body) {
    const accepted = new Promise((resolve) => sender.once('accepted', resolve));
    sender.send({
      body: rhea.message.data_section(Buffer.from(JSON.stringify(body))), durable: true, priority: 3, message_id: 'message',
      correlation_id: 'correlation', content_type: 'application/json', reply_to: '/queues/answers', group_id: 'group',
      application_properties: { text: 'grüße 👋', integer: 42, fraction: 1.5, yes: true, no: false },
    });
    return accepted;
  },
});
