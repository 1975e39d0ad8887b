<?php
// php-amqplib: see scenario.js for what it does.
require_once 'PhpAmqpLib/autoload.php';
require_once __DIR__ . '/scenario.php';

use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Message\AMQPMessage;
use PhpAmqpLib\Wire\AMQPTable;

$uri = parse_url(getenv('FRAMEWORKS_URI'));
$queue = getenv('FRAMEWORKS_QUEUE');
// Its default, AMQPLAIN, is one that RabbitMQ 4.3 does not offer.
$connection = new AMQPStreamConnection(
    $uri['host'], $uri['port'], $uri['user'], $uri['pass'], substr($uri['path'], 1), false, 'PLAIN'
);
$channel = $connection->channel();
$channel->queue_declare($queue, false, true, false, false);
$channel->basic_qos(0, 10, false);
$channel->basic_consume($queue, '', false, false, false, false, function (AMQPMessage $message) use ($channel) {
    $properties = $message->get_properties();
    $headers = isset($properties['application_headers']) ? $properties['application_headers']->getNativeData() : [];
    unset($properties['application_headers']);
    $tag = $message->getDeliveryTag();
    $success = succeeds(json_decode($message->body, true), [
        'raw' => $message->body, 'properties' => $properties, 'headers' => typed($headers),
        'exchange' => $message->getExchange(), 'key' => $message->getRoutingKey(), 'redelivered' => $message->isRedelivered(),
    ]);
    $success ? $channel->basic_ack($tag) : $channel->basic_nack($tag, false, false);
});

ready(debian_version('php-amqplib'));
each_turn(function () use ($channel, $connection) {
    try {
        $channel->wait(null, false, 0.2);
    } catch (\PhpAmqpLib\Exception\AMQPTimeoutException $none) {
    }
}, function (array $body) use ($channel, $queue) {
    $channel->basic_publish(new AMQPMessage(json_encode($body), [
        'delivery_mode' => 2, 'content_type' => 'application/json', 'content_encoding' => 'utf-8', 'correlation_id' => 'correlation',
        'reply_to' => 'answers', 'message_id' => 'message', 'timestamp' => 1700000000, 'type' => 'order', 'app_id' => 'shop',
        'priority' => 3, 'application_headers' => new AMQPTable([
            'text' => 'grüße 👋', 'integer' => 42, 'negative' => -7, 'large' => 2 ** 40, 'yes' => true, 'no' => false,
            'nothing' => null, 'list' => [1, 'two', ['three' => 3]], 'table' => ['inner' => ['deep' => 'x']],
            'when' => new DateTime('@1700000000'),
        ]),
    ]), '', $queue);
});
