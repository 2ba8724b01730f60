package jms_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/jms/manage"
)

// What the management says of a queue, in all its forms.
func TestRabbitMQ(t *testing.T) {
	for answer, want := range map[string]manage.Queue{
		`{"type":"classic"}`:                {ID: "a/b q"},
		`{"messages":0,"message_stats":[]}`: {ID: "a/b q"},
		`{"messages":3,"consumers":2,"message_stats":{"publish":9,"ack":4,"deliver_no_ack":1,"get_no_ack":1,"redeliver":7,"publish_details":{"rate":0.0}}}`: {ID: "a/b q", Depth: 3, Consumers: 2, Added: 9, Delivered: 6},
		"":                                  {}, // 404
		`{"type":"stream","messages":3}`:    {ID: "is a stream"},
		`{"messages":-1}`:                   {ID: "does not answer as RabbitMQ"},
		`{"messages":99999999999999999999}`: {ID: "does not answer as RabbitMQ"},
		`{"message_stats":{"publish":"x"}}`: {ID: "in an unknown form"},
		`{"messages":`:                      {ID: "does not answer as RabbitMQ"},
		strings.Repeat(" ", 2<<20) + `{"messages":1}`: {ID: "does not answer as RabbitMQ"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.EscapedPath() {
			case "/base/api/overview":
				fmt.Fprint(w, `{"node":"n@h","cluster_name":"c","rates_mode":"basic"}`)
			case "/base/api/nodes/n@h":
				fmt.Fprint(w, `{"uptime":5000}`)
			case "/base/api/queues/v%2Fh/a%2Fb%20q":
				if answer == "" {
					http.NotFound(w, r)
				}
				fmt.Fprint(w, answer)
			default:
				t.Errorf("asked for %s", r.URL.EscapedPath())
			}
		}))
		m, err := manage.NewRabbitMQ(s.URL+"/base/?vhost=v%2Fh", "u", "p", nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Read(t.Context(), []string{"a/b q"})
		s.Close()
		short := answer[max(0, len(answer)-60):]
		switch {
		case err != nil:
			if want.ID == "" || !strings.Contains(err.Error(), want.ID) {
				t.Errorf("%s: %v", short, err)
			}
		case r.Queues["a/b q"] != want || r.Uptime != 5*time.Second || r.Node != "c" || !r.Lags || r.Empty() != (answer == ""):
			t.Errorf("%s: %+v", short, r)
		}
	}
}
