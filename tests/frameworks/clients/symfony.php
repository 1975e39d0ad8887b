<?php
// Symfony Messenger: see scenario.js for what it does. It has no listener that publishes again what failed
// (max_retries: 0), and no failure transport: what a handler throws makes the worker reject. With FRAMEWORKS_RETRIES it has
// that listener, as symfony/framework-bundle sets it up where retry_strategy is left out; with FRAMEWORKS_DEAD a failure
// transport with a queue of that name.
require_once 'Symfony/Component/Messenger/autoload.php';
require_once 'Symfony/Component/Messenger/Bridge/Amqp/autoload.php';
require_once 'Symfony/Component/EventDispatcher/autoload.php';
require_once __DIR__ . '/scenario.php';

use Psr\Container\ContainerInterface;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\AmqpReceivedStamp;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\AmqpStamp;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\AmqpTransport;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\Connection;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Event\WorkerRunningEvent;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageToFailureTransportListener;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\MiddlewareInterface;
use Symfony\Component\Messenger\Middleware\StackInterface;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Worker;

final class Order
{
    public $body;

    public function __construct(array $body)
    {
        $this->body = $body;
    }
}

final class Handling implements MiddlewareInterface
{
    public function handle(Envelope $envelope, StackInterface $stack): Envelope
    {
        $amqp = $envelope->last(AmqpReceivedStamp::class)->getAmqpEnvelope();
        $properties = [];
        foreach (['ContentType', 'ContentEncoding', 'DeliveryMode', 'Priority', 'CorrelationId', 'ReplyTo', 'Expiration',
                  'MessageId', 'Timestamp', 'Type', 'UserId', 'AppId'] as $name) {
            $properties[$name] = $amqp->{"get$name"}();
        }
        $success = succeeds($envelope->getMessage()->body, [
            'raw' => $amqp->getBody(), 'properties' => $properties, 'headers' => typed($amqp->getHeaders()),
            'exchange' => $amqp->getExchangeName() ?: '', 'key' => $amqp->getRoutingKey(), 'redelivered' => $amqp->isRedelivery(),
        ]);
        if (!$success) {
            throw new RuntimeException('not now');
        }
        return $envelope;
    }
}

$queue = getenv('FRAMEWORKS_QUEUE');
$transport = new AmqpTransport(Connection::fromDsn(getenv('FRAMEWORKS_URI') . '/messages', [
    'exchange' => ['name' => "$queue.exchange", 'type' => 'direct', 'default_publish_routing_key' => 'order.made'],
    'queues' => [$queue => ['binding_keys' => ['order.made']]],
]), new PhpSerializer());
$transport->setup();

$events = new EventDispatcher();
stream_set_blocking(STDIN, false);
$events->addListener(WorkerRunningEvent::class, function (WorkerRunningEvent $event) use ($transport) {
    if (fgets(STDIN) !== false) {
        foreach (json_decode(getenv('FRAMEWORKS_MESSAGES'), true) as $message) {
            $transport->send(new Envelope(new Order($message + ['text' => 'grüße 👋', 'numbers' => [1, 2.5]]), [
                new AmqpStamp('order.made', AMQP_NOPARAM, [
                    'content_type' => 'application/x-php', 'correlation_id' => 'correlation', 'reply_to' => 'answers',
                    'message_id' => 'message', 'timestamp' => 1700000000, 'app_id' => 'shop', 'priority' => 3,
                    'headers' => ['text' => 'grüße 👋', 'integer' => 42, 'yes' => true, 'table' => ['inner' => ['deep' => 'x']]],
                ]),
            ]));
        }
    }
    if (feof(STDIN)) {
        $event->getWorker()->stop();
    }
});
/** What the container of a Symfony application would give. */
final class Only implements ContainerInterface
{
    private $what;

    public function __construct($what)
    {
        $this->what = $what;
    }

    public function get($id)
    {
        return $this->what;
    }

    public function has($id): bool
    {
        return true;
    }
}

if (getenv('FRAMEWORKS_RETRIES')) {
    $events->addSubscriber(new SendFailedMessageForRetryListener(
        new Only($transport), new Only(new MultiplierRetryStrategy()), null, $events
    ));
}
if ($dead = getenv('FRAMEWORKS_DEAD')) {
    $failures = new AmqpTransport(Connection::fromDsn(getenv('FRAMEWORKS_URI') . '/messages', [
        'exchange' => ['name' => "$dead.exchange", 'type' => 'fanout'], 'queues' => [$dead => []],
    ]), new PhpSerializer());
    $failures->setup();
    $events->addSubscriber(new SendFailedMessageToFailureTransportListener(new Only($failures)));
}
ready(debian_version('php-symfony-messenger'));
(new Worker(['orders' => $transport], new MessageBus([new Handling()]), $events))->run(['sleep' => 100000]);
