// Command mqtt loads an MQTT broker with messages that the broker acknowledges:
//
//	go build -o mqtt . && takt ./mqtt --rate 20k/s -z 10s -c 20 tcp://127.0.0.1:1883
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func main() {
	size := flag.Int("size", 100, "of a message, in bytes")
	qos := flag.Int("qos", 1, "1 or 2")
	bench.Main(func(args []string) (*takt.Driver, error) { return open(args, *size, byte(*qos)) })
}

func open(args []string, size int, qos byte) (*takt.Driver, error) {
	if len(args) != 1 || qos < 1 || qos > 2 {
		return nil, bench.Usage(errors.New("give the URL of the broker, such as tcp://127.0.0.1:1883, and a --qos of 1 or 2"))
	}
	body := make([]byte, size)
	return load.Workers(func(worker int) (load.Func, func() error, error) {
		o := mqtt.NewClientOptions().AddBroker(args[0]).SetClientID(fmt.Sprintf("takt-%d-%d", time.Now().UnixNano(), worker))
		c := mqtt.NewClient(o.SetConnectTimeout(5 * time.Second).SetAutoReconnect(false))
		if t := c.Connect(); !t.WaitTimeout(10*time.Second) || t.Error() != nil {
			return nil, nil, errors.Join(errors.New("no connection to the broker"), t.Error())
		}
		topic := fmt.Sprintf("takt/%d", worker)
		return func(ctx context.Context, _ *takt.Op, r *takt.Result) error {
			t := c.Publish(topic, qos, false, body)
			select {
			case <-t.Done():
				r.BytesSent = int64(len(body))
				return load.Lost(t.Error()) // paho has no other error of a message than a lost connection
			case <-ctx.Done():
				return ctx.Err()
			}
		}, func() error { c.Disconnect(100); return nil }, nil
	}), nil
}
