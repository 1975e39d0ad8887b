# Bunny: see scenario.js for what it does.
require 'bunny'
require 'json'

$stdout.sync = true
QUEUE = ENV.fetch('FRAMEWORKS_QUEUE')
HEADERS = {
  'text' => 'grüße 👋', 'integer' => 42, 'negative' => -7, 'large' => 2**40, 'fraction' => 1.5, 'yes' => true, 'no' => false,
  'nothing' => nil, 'list' => [1, 'two', { 'three' => 3 }], 'table' => { 'inner' => { 'deep' => 'x' } },
  'when' => Time.at(1_700_000_000)
}.freeze

def say(event)
  $stdout.write("#{JSON.generate(event)}\n")
end

def typed(value)
  case value
  when Hash then value.sort_by { |key, _| key.to_s }.to_h { |key, each| [key, typed(each)] }
  when Array then value.map { |each| typed(each) }
  when Time then { time: value.to_i }
  when String, Numeric, true, false, nil then value
  else { value.class.name => value.to_s }
  end
end

seen = Hash.new(0)
connection = Bunny.new(ENV.fetch('FRAMEWORKS_URI')).start
channel = connection.create_channel
channel.prefetch(10)
queue = channel.queue(QUEUE, durable: true)
queue.subscribe(manual_ack: true) do |delivery, properties, raw|
  body = JSON.parse(raw)
  seen[body['name']] += 1
  success = seen[body['name']] > body['fails']
  given = properties.to_h
  say(delivery: body['name'], body: body, raw: raw, properties: typed(given.reject { |name, _| name == :headers }),
      headers: typed(given[:headers] || {}), exchange: delivery.exchange, key: delivery.routing_key,
      redelivered: delivery.redelivered?, success: success)
  success ? channel.ack(delivery.delivery_tag) : channel.reject(delivery.delivery_tag, false)
end

say(ready: true, version: Bunny::VERSION)
publisher = connection.create_channel
$stdin.each_line do
  JSON.parse(ENV.fetch('FRAMEWORKS_MESSAGES')).each do |message|
    body = JSON.generate(message.merge('text' => 'grüße 👋', 'numbers' => [1, 2.5]))
    publisher.default_exchange.publish(
      body, routing_key: QUEUE, persistent: true, content_type: 'application/json', content_encoding: 'utf-8',
            correlation_id: 'correlation', reply_to: 'answers', message_id: 'message', timestamp: 1_700_000_000, type: 'order',
            app_id: 'shop', priority: 3, headers: HEADERS
    )
  end
end
