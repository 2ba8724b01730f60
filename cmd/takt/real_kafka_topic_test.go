//go:build real

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file cover records that the broker does not acknowledge, and topics that change
// during a run.

// Without acknowledgements a broker refuses a record by closing the connection. takt counts a record
// as ok only if it is in the topic.
func TestRealKafkaRefusedWithoutAcks(t *testing.T) {
	b := kafka(t)
	for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
		t.Run(client, func(t *testing.T) {
			all(t, b.produce(t, "--client", client, "--required-acks", "none", "-n", "500"), 500)
			r := b.run(t, "produce", "--client", client, "--required-acks", "none", "--message-size", "2000000", "-n", "10")
			if r.Counts.Failed != 10 || len(r.Errors) != 1 || r.Errors[0].Class != "not_stored" {
				t.Errorf("counts %+v, errors %v; want 10 that are not stored", r.Counts, r.Errors)
			}
			if closed, _ := r.Extra["connections_closed"].(float64); closed == 0 && (client == "takt" || client == "franz") {
				t.Errorf("extra %v", r.Extra)
			}
			list, _ := b.read(t, 500, kgo.ReadUncommitted())
			whole(t, list, 500)
		})
	}
}

// With -e a consumer stops at the end of the topic, and a group continues where it stopped.
func TestRealKafkaExit(t *testing.T) {
	b := kafka(t)
	all(t, b.produce(t, "--required-acks", "all", "--transactions", "100", "-n", "1000"), 1000)
	for _, c := range []struct {
		args string
		want uint64
	}{
		{"", 1000}, {"--read-committed", 1000}, {"--group exit-" + topicOf(t), 1000}, {"--group exit-" + topicOf(t), 0}, {"--from latest", 0},
	} {
		r, code, said := runOnce(t, t.Context(), "kafka consume", append([]string{"--brokers", b.addr(0), "--topic", topicOf(t), "-e", "--duration", "30s"}, strings.Fields(c.args)...))
		if code != 0 || r.Counts.Scheduled != c.want || r.Counts.OK != c.want || r.DurationS > 20 || r.Extra["lag"] != 0.0 {
			t.Errorf("%q: exit code %d, counts %+v after %v s, extra %v; want %d\n%s", c.args, code, r.Counts, r.DurationS, r.Extra, c.want, said)
		}
	}
}

// Every client writes to and reads from partitions that are added during a run.
func TestRealKafkaPartitionsAdded(t *testing.T) {
	b := kafka(t)
	for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
		t.Run(client, func(t *testing.T) {
			b.produce(t, "--partitions", "1", "-n", "10")
			consumer := "franz"
			if strings.HasPrefix(client, "sarama") {
				consumer = "sarama"
			}
			reports := make(chan *takt.Report, 2)
			for _, group := range []string{"", "group-" + topicOf(t)} {
				go func() {
					var r *takt.Report // stays nil when runOnce fails
					defer func() { reports <- r }()
					args := []string{"--brokers", b.addr(0), "--topic", topicOf(t), "--client", consumer, "-n", "1210", "--duration", "30s"}
					if group != "" {
						args = append(args, "--group", group)
					}
					r, _, _ = runOnce(t, t.Context(), "kafka consume", args)
				}()
			}
			time.AfterFunc(time.Second, func() { b.grow(t, topicOf(t), partitions) })
			r := b.run(t, "e2e", "--client", client, "--rate", "200/s", "--duration", "6s")
			all(t, r, 1200)
			acked, _ := r.Extra["partitions"].(map[string]any)
			if n, _ := acked["2"].(float64); n < 100 || r.Extra["lost"] != 0.0 || !r.Warned("partitions_added") {
				t.Errorf("partitions %v, extra %v, warnings %v", acked, r.Extra, r.Warnings)
			}
			for range 2 {
				r := <-reports
				if r == nil {
					continue
				}
				all(t, r, 1210)
				if r.Extra["lost"] != 0.0 || r.Extra["lag"] != 0.0 {
					t.Errorf("received: %v", r.Extra)
				}
			}
		})
	}
}

// grow raises the number of partitions of a topic to n.
func (b broker) grow(t *testing.T, topic string, n int32) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr(0)))
	if err != nil {
		t.Error(err)
		return
	}
	defer cl.Close()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, n
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(context.Background(), cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Error(err)
	}
}

// A run whose topic is deleted ends with exit code 1 and says that the topic is gone.
func TestRealKafkaTopicGone(t *testing.T) {
	b := kafka(t)
	for _, command := range []string{"produce --rate 200/s", "produce --client franz --rate 200/s", "produce --client sarama --rate 200/s", "e2e --rate 200/s", "consume", "consume --group gone", "consume --client sarama"} {
		t.Run(command, func(t *testing.T) {
			topic := strings.NewReplacer(" ", "", "--", "-").Replace(topicOf(t))
			runOnce(t, t.Context(), "kafka produce", []string{"--brokers", b.addr(0), "--topic", topic, "--create-topic", "-n", "10"})
			time.AfterFunc(time.Second, func() { b.drop(t, topic) })
			r, code, said := runOnce(t, t.Context(), "kafka "+command, []string{"--brokers", b.addr(0), "--topic", topic, "--duration", "60s"})
			if code != 1 || !strings.Contains(said, "is gone") || !r.Warned("broke_off") || r.DurationS > 30 || r.Counts.OK == 0 || r.Counts.Unfinished > 0 {
				t.Errorf("exit code %d, counts %+v after %v s, warnings %v\n%s", code, r.Counts, r.DurationS, r.Warnings, said)
			}
		})
	}
}
