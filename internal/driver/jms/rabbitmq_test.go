package jms

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/driver/jms/manage"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/pkg/takt"
)

// rabbit is the management of a broker: it counts anew once in beat, and then answers with the depth
// that the queue TEST had one beat before.
type rabbit struct {
	*httptest.Server
	f      *amqptest.Broker
	change func(publish, ack, depth *int)

	mu          sync.Mutex
	asked       int // readings of the queue
	born        time.Time
	next        time.Time
	uptime      time.Duration
	known, soon int
	before      int // messages of earlier runs, which the counters lack until the second beat
}

const beat = 60 * time.Millisecond

func newRabbit(t *testing.T, f *amqptest.Broker) *rabbit {
	m := &rabbit{f: f, change: func(*int, *int, *int) {}, born: time.Now().Add(-time.Hour)}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *rabbit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if user, password, _ := r.BasicAuth(); user != "ann" || password != "hush" {
		http.Error(w, "hush", http.StatusUnauthorized)
		return
	}
	if now := time.Now(); now.After(m.next) {
		m.known, m.soon = m.soon, m.f.Depth("TEST")+m.before
		m.next, m.uptime = now.Add(beat), now.Sub(m.born)
	}
	switch {
	case r.URL.Path == "/api/overview":
		fmt.Fprint(w, `{"node":"n@h","cluster_name":"c","rates_mode":"basic"}`)
	case r.URL.Path == "/api/nodes/n@h":
		fmt.Fprintf(w, `{"uptime":%d}`, m.uptime.Milliseconds())
	case r.URL.EscapedPath() == "/api/queues/%2F/TEST" && m.f.Saw("attach")+m.before > 0:
		m.asked++
		publish, ack, depth := m.known, 0, m.known
		m.change(&publish, &ack, &depth)
		fmt.Fprintf(w, `{"type":"classic","consumers":0,"messages":%d,"message_stats":{"publish":%d,"ack":%d}}`, depth, publish, ack)
	default:
		http.NotFound(w, r)
	}
}

func (m *rabbit) url() string { return strings.Replace(m.URL, "//", "//ann:hush@", 1) + "/api/" }

// The ledger of RabbitMQ has what the broker counted up to the run's end, although the counters lag,
// and nothing of earlier runs.
func TestManagement(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(publish, ack, depth *int)
		before  int
		want    takt.Ledger
		stored  uint64
		warning takt.WarningCode
	}{
		"honest":        {func(_, _, _ *int) {}, 0, takt.Ledger{}, 203, ""},
		"not the first": {func(_, _, _ *int) {}, 50, takt.Ledger{}, 203, ""},
		"lost":          {func(publish, _, depth *int) { *publish -= *publish / 100; *depth = *publish }, 0, takt.Ledger{Missing: 2}, 201, "ledger_missing"},
		"doubled":       {func(publish, _, depth *int) { *publish += *publish / 100; *depth = *publish }, 0, takt.Ledger{Surplus: 2}, 205, "ledger_surplus"},
		"removed":       {func(_, ack, depth *int) { *ack = *depth / 50; *depth -= *depth / 20 }, 0, takt.Ledger{Removed: 6}, 203, "ledger_removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := amqptest.New(t, amqptest.Script{})
			m := newRabbit(t, f)
			m.change, m.before = c.change, c.before
			o := served(t, f, NewProducer())
			o.MessageCount, o.MaxPending, o.Management = 203, 20, m.url()
			r := makeRun(t, o, nil)
			all(t, r, 203)
			l := r.Ledger
			if l.Stored == nil || *l.Stored != c.stored {
				t.Fatalf("%+v, warnings %v", l, r.Warnings)
			}
			c.want.Source, c.want.Acknowledged = l.Source, 203
			l.Stored, l.Delivered = nil, nil
			if l != c.want || l.Balanced() != (c.warning == "") || c.warning != "" && !r.Warned(c.warning) || strings.Contains(fmt.Sprint(r.Warnings), "ledger") != (c.warning != "") {
				t.Errorf("%+v, warnings %v", l, r.Warnings)
			}
		})
	}
}

// Counters are new when the broker has counted five times since the first reading.
func TestWaitingForCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := newWaiting(), time.Now()
		for {
			r := manage.Reading{Lags: true, Uptime: time.Since(began).Truncate(5 * time.Second)}
			if w.last(&r) || !w.pause(t.Context()) {
				break
			}
		}
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Who asked for a ledger and cannot have one learns it before the first message.
func TestManagementRefuses(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{})
	m := newRabbit(t, f)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/away/"):
			http.Redirect(w, r, m.URL, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/huge/"):
			fmt.Fprint(w, `{"node":"`, strings.Repeat("x", 2<<20), `"}`)
		case strings.HasPrefix(r.URL.Path, "/mute/"):
			fmt.Fprint(w, `{"node":"n","cluster_name":"c","rates_mode":"none"}`)
		default:
			fmt.Fprint(w, "<html>")
		}
	}))
	defer page.Close()
	for url, want := range map[string]string{
		m.URL:                   "refuses the user",
		m.url() + "?vhost=none": "", // its queue will come
		"http://" + nobody(t):   "does not answer",
		page.URL:                "does not answer as RabbitMQ does",
		page.URL + "/away":      "status 302",
		page.URL + "/huge":      "does not answer as RabbitMQ does",
		page.URL + "/mute":      "rates_mode",
	} {
		o := served(t, f, NewProducer())
		o.Management, o.MessageCount = url, 5
		p := plan(t, o, nil)
		_, err := engine.Run(t.Context(), p)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"localhost:15672", "ftp://a", "http://", "::"} {
		o := served(t, f, NewProducer())
		if o.Management = url; len(o.Validate(nil)) == 0 {
			t.Errorf("%s is taken", url)
		}
	}
}
