// What every client in JavaScript does: the driver (frameworks_test.py) says by the environment which queue and which
// messages, and reads a line of JSON for each thing that happens.
'use strict';

const fs = require('fs');
const readline = require('readline');

const uri = process.env.FRAMEWORKS_URI;
const queue = process.env.FRAMEWORKS_QUEUE;
const messages = JSON.parse(process.env.FRAMEWORKS_MESSAGES); // [{name, fails}]: it fails this often, then it succeeds

function say(event) {
  process.stdout.write(JSON.stringify(event) + '\n');
}

/** A value with its type, as far as the library told it. */
function typed(value) {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return { bytes: value.toString('hex') };
  if (value instanceof Date) return { date: value.getTime() };
  if (typeof value === 'bigint') return { bigint: value.toString() };
  if (Array.isArray(value)) return value.map(typed);
  if (typeof value === 'object') {
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, typed(value[key])]));
  }
  return value;
}

/** Headers of all the types that amqplib can write. */
const headers = {
  text: 'grüße 👋', integer: 42, negative: -7, large: 2 ** 40, fraction: 1.5, yes: true, no: false, nothing: null,
  bytes: Buffer.from([0, 255, 10]), when: { '!': 'timestamp', value: 1700000000 }, byte: { '!': 'byte', value: 5 },
  float: { '!': 'float', value: 2.5 }, decimal: { '!': 'decimal', value: { digits: 314, places: 2 } },
  list: [1, 'two', { three: 3 }], table: { inner: { deep: 'x' } },
};

const properties = {
  persistent: true, contentType: 'application/json', contentEncoding: 'utf-8', correlationId: 'correlation', replyTo: 'answers',
  messageId: 'message', timestamp: 1700000000, type: 'order', appId: 'shop', priority: 3,
};

const body = (message) => ({ ...message, text: 'grüße 👋', numbers: [1, 2.5] });

const seen = {};

/** Tells the driver what came; whether it is to succeed now. `content`: the body, read. */
function succeeds(content, { fields = {}, properties: given = {}, raw = null } = {}) {
  const { headers: theirs, ...rest } = given;
  seen[content.name] = (seen[content.name] || 0) + 1;
  const success = seen[content.name] > content.fails;
  say({
    delivery: content.name, body: typed(content), raw: typed(raw), properties: typed(rest), headers: typed(theirs || {}),
    exchange: fields.exchange, key: fields.routingKey, redelivered: fields.redelivered, success,
  });
  return success;
}

/** Not by require(): not every package lets its package.json be seen. */
const versionOf = (name) => JSON.parse(fs.readFileSync(`${process.env.NODE_PATH}/${name}/package.json`)).version;

/** `start` sets the client up until it consumes; `publish` sends one message. Ends when the driver closes stdin. */
async function run({ name, start, publish }) {
  await start();
  const commands = readline.createInterface({ input: process.stdin });
  commands.on('line', async () => {
    for (const message of messages) await publish(body(message));
    say({ published: messages.length });
  });
  commands.on('close', () => process.exit(0));
  say({ ready: true, version: versionOf(name) });
}

process.on('unhandledRejection', (error) => {
  console.error(error);
  process.exit(1);
});

module.exports = { uri, queue, headers, properties, succeeds, run };
