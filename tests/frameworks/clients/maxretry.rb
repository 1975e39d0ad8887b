# A worker with Kicks' (Sneakers') handler Maxretry, as far as the broker sees it: no distribution has the gem. What it declares
# and does is from lib/sneakers/queue.rb and lib/sneakers/handlers/maxretry.rb of Kicks 3.3, with a retry_timeout of 300 ms and
# 5 retries (its default). With FRAMEWORKS_ONESHOT it is a worker with the handler Oneshot, which rejects, on the same queue.
require 'bunny'
require 'json'

$stdout.sync = true
QUEUE = ENV.fetch('FRAMEWORKS_QUEUE')
ONESHOT = ENV.key?('FRAMEWORKS_ONESHOT')
MAX_RETRIES = 5

def say(event)
  $stdout.write("#{JSON.generate(event)}\n")
end

connection = Bunny.new(ENV.fetch('FRAMEWORKS_URI')).start
channel = connection.create_channel
channel.prefetch(10)
queue = channel.queue(QUEUE, durable: true, arguments: { 'x-dead-letter-exchange': "#{QUEUE}-retry" })
unless ONESHOT
  retries, errors, requeues = %w[retry error retry-requeue].map do |name|
    channel.exchange("#{QUEUE}-#{name}", type: 'topic', durable: true)
  end
  channel.queue("#{QUEUE}-retry", durable: true, arguments: { 'x-dead-letter-exchange': requeues.name, 'x-message-ttl': 300 })
         .bind(retries, routing_key: '#')
  channel.queue("#{QUEUE}-error", durable: true).bind(errors, routing_key: '#')
  queue.bind(requeues, routing_key: '#')
end

failures = lambda do |headers|
  deaths = ((headers || {})['x-death'] || []).select { |death| death['queue'] == QUEUE }
  deaths.sum { |death| death['count'] }
end

queue.subscribe(manual_ack: true) do |delivery, properties, raw|
  before = failures.call(properties[:headers])
  gives_up = !ONESHOT && before >= MAX_RETRIES
  say(delivery: JSON.parse(raw)['name'], failures: before, success: false)
  if gives_up
    errors.publish(raw, routing_key: delivery.routing_key, headers: { retry_info: '[]' })
    channel.acknowledge(delivery.delivery_tag, false)
  else
    channel.reject(delivery.delivery_tag, false)
  end
end

say(ready: true, version: Bunny::VERSION)
publisher = connection.create_channel
$stdin.each_line do
  JSON.parse(ENV.fetch('FRAMEWORKS_MESSAGES')).each do |message|
    publisher.default_exchange.publish(JSON.generate(message), routing_key: QUEUE, persistent: true)
  end
end
