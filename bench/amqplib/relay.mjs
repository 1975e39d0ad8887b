// The dead-letter recipe of the articles, in Node with amqplib, done properly: what is rejected waits in a queue with a
// TTL; the attempt is counted in a header of its own, since RabbitMQ 4 does not count on in a republished x-death.
// Publications are mandatory, persistent and confirmed, deliveries are acked after the confirm, many with one ack.
//
//   node relay.mjs CONFIG.json
import { readFileSync } from 'node:fs';
import amqp from 'amqplib';

const config = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const attemptHeader = 'x-retry-attempt';

function fail(why) {
    console.error(why);
    process.exit(1); // nothing is lost: what was not acked is delivered again
}

// Two connections: an alarm of the broker stops reading from the one that publishes, and acks must not wait behind it.
const intake = await amqp.connect(config.uri);
const outlet = await amqp.connect(config.uri);
intake.on('error', fail);
outlet.on('error', fail);
const consuming = await intake.createChannel();
const publishing = await outlet.createConfirmChannel();
for (const channel of [consuming, publishing]) channel.on('error', fail);
publishing.on('return', (message) => fail(`no queue took ${message.fields.routingKey}`));

// Acks go out in the order of the deliveries, one for all that are confirmed so far in this turn of the loop.
const settled = new Set();
let acked = 0;
let flushing = false;

function settle(deliveryTag) {
    settled.add(deliveryTag);
    if (flushing) return;
    flushing = true;
    setImmediate(flush);
}

function flush() {
    flushing = false;
    const before = acked;
    while (settled.delete(acked + 1)) acked += 1;
    if (acked > before) consuming.ack({ fields: { deliveryTag: acked } }, true);
}

function placeOf({ exchange, key }, queue, delay) {
    return [exchange.replace('{delay}', delay), key.replace('{queue}', queue).replace('{delay}', delay)];
}

// The headers for the next round. An old x-death must not travel: 3.x would count on in it and take some returns for a
// cycle.
function nextHeaders(headers, attempt) {
    const { 'x-death': _, ...kept } = headers;
    for (const name of Object.keys(kept)) {
        if (name.startsWith('x-first-death-') || name.startsWith('x-last-death-')) delete kept[name];
    }
    kept[attemptHeader] = attempt;
    return kept;
}

function retry(message) {
    const headers = message.properties.headers ?? {};
    const death = headers['x-death']?.[0];
    const attempt = (headers[attemptHeader] ?? 0) + 1;
    const delay = config.delays[attempt - 1];
    const [exchange, key] =
        death && delay ? placeOf(config.rung, death.queue, delay) : ['', config.parking];
    const options = {
        ...message.properties,
        headers: nextHeaders(headers, attempt),
        expiration: undefined,
        persistent: true,
        mandatory: true,
    };
    publishing.publish(exchange, key, message.content, options, (refused) => {
        if (refused) fail(`the broker refused a publication: ${refused.message}`);
        settle(message.fields.deliveryTag);
    });
}

await consuming.prefetch(config.prefetch);
await consuming.consume(config.errors, (message) => (message ? retry(message) : fail('the consumer was cancelled')));

process.on('SIGTERM', async () => {
    await publishing.waitForConfirms();
    flush();
    await intake.close();
    await outlet.close();
    process.exit(0);
});
