// amqp091-go: see scenario.js for what it does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

type message struct {
	Name    string    `json:"name"`
	Fails   int       `json:"fails"`
	Text    string    `json:"text"`
	Numbers []float64 `json:"numbers"`
}

func say(event map[string]interface{}) {
	line, err := json.Marshal(event)
	check(err)
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A value with its type.
func typed(value interface{}) interface{} {
	switch one := value.(type) {
	case amqp.Table:
		all := map[string]interface{}{}
		for name, each := range one {
			all[name] = typed(each)
		}
		return all
	case []interface{}:
		all := []interface{}{}
		for _, each := range one {
			all = append(all, typed(each))
		}
		return all
	}
	return fmt.Sprintf("%T %v", value, value)
}

func version() string {
	out, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", "golang-github-rabbitmq-amqp091-go-dev").Output()
	check(err)
	return strings.Split(string(out), "-")[0]
}

func main() {
	queue := os.Getenv("FRAMEWORKS_QUEUE")
	connection, err := amqp.Dial(os.Getenv("FRAMEWORKS_URI"))
	check(err)
	channel, err := connection.Channel()
	check(err)
	_, err = channel.QueueDeclare(queue, true, false, false, false, nil)
	check(err)
	check(channel.Qos(10, 0, false))
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	check(err)
	go consume(deliveries)
	say(map[string]interface{}{"ready": true, "version": version()})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		publish(channel, queue)
	}
}

func consume(deliveries <-chan amqp.Delivery) {
	seen := map[string]int{}
	for delivery := range deliveries {
		var body message
		check(json.Unmarshal(delivery.Body, &body))
		seen[body.Name]++
		success := seen[body.Name] > body.Fails
		say(map[string]interface{}{
			"delivery": body.Name, "body": body, "raw": string(delivery.Body), "headers": typed(delivery.Headers),
			"properties": map[string]interface{}{
				"content-type": delivery.ContentType, "content-encoding": delivery.ContentEncoding, "mode": delivery.DeliveryMode,
				"priority": delivery.Priority, "correlation-id": delivery.CorrelationId, "reply-to": delivery.ReplyTo,
				"expiration": delivery.Expiration, "message-id": delivery.MessageId, "timestamp": delivery.Timestamp.Unix(),
				"type": delivery.Type, "user-id": delivery.UserId, "app-id": delivery.AppId,
			},
			"exchange": delivery.Exchange, "key": delivery.RoutingKey, "redelivered": delivery.Redelivered, "success": success,
		})
		if success {
			check(delivery.Ack(false))
		} else {
			check(delivery.Nack(false, false))
		}
	}
}

func publish(channel *amqp.Channel, queue string) {
	var messages []message
	check(json.Unmarshal([]byte(os.Getenv("FRAMEWORKS_MESSAGES")), &messages))
	for _, one := range messages {
		one.Text, one.Numbers = "grüße 👋", []float64{1, 2.5}
		body, err := json.Marshal(one)
		check(err)
		check(channel.Publish("", queue, false, false, amqp.Publishing{
			ContentType: "application/json", ContentEncoding: "utf-8", DeliveryMode: 2, Priority: 3,
			CorrelationId: "correlation", ReplyTo: "answers", MessageId: "message", Timestamp: time.Unix(1700000000, 0),
			Type: "order", AppId: "shop", Body: body,
			Headers: amqp.Table{
				"text": "grüße 👋", "byte": byte(5), "short": int16(-3), "integer": int32(42), "large": int64(1) << 40,
				"float": float32(2.5), "fraction": 1.5, "yes": true, "no": false, "nothing": nil, "bytes": []byte{0, 255, 10},
				"decimal": amqp.Decimal{Scale: 2, Value: 314}, "when": time.Unix(1700000000, 0),
				"list": []interface{}{int32(1), "two", amqp.Table{"three": int32(3)}}, "table": amqp.Table{"inner": amqp.Table{"deep": "x"}},
			},
		}))
	}
}
