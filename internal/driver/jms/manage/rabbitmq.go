package manage

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/taktload/takt/internal/reach"
)

// RabbitMQ is the management of a broker of RabbitMQ, which answers over HTTP. Its counters lag:
// queues and channels report once in collect_statistics_interval (5 s unless configured), and the
// management collects the reports, and shows samples, every 5 s. The age of the node, Reading.Uptime,
// changes every 5 s, whatever is configured (3.10).
type RabbitMQ struct {
	at             url.URL // without user and password
	user, password string
	vhost          string
	client         http.Client
}

// NewRabbitMQ reads http://HOST:PORT or https://, with the options user, password and ?vhost=NAME.
// config is for https.
func NewRabbitMQ(text, user, password string, config *tls.Config) (*RabbitMQ, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("--management is not a URL; write http://HOST:15672 or https://HOST:15671")
	}
	m := &RabbitMQ{user: user, password: password, vhost: cmp.Or(u.Query().Get("vhost"), "/")}
	if u.User != nil {
		m.user = u.User.Username()
		m.password, _ = u.User.Password()
	}
	m.at = url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api")}
	m.client = http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, DialContext: reach.Dial},
		CheckRedirect: reach.NoRedirect,
	}
	return m, nil
}

// Shown is the URL without user, password and options.
func (m *RabbitMQ) Shown() string { return m.at.String() }

// Secrets are texts that no output may contain.
func (m *RabbitMQ) Secrets() []string {
	if m.password == "" {
		return nil
	}
	return []string{m.password}
}

// rabbitQueue is what RabbitMQ says of a queue.
type rabbitQueue struct {
	Type      string          `json:"type"`
	Consumers Count           `json:"consumers"`
	Depth     Count           `json:"messages"`
	Stats     json.RawMessage `json:"message_stats"` // an empty list, or absent: nothing was counted yet
}

type rabbitStats struct {
	Publish  Count `json:"publish"`
	Ack      Count `json:"ack"`
	NoAck    Count `json:"deliver_no_ack"`
	GetNoAck Count `json:"get_no_ack"`
}

func (q *rabbitQueue) queue(name string) (Queue, error) {
	var s rabbitStats
	if len(q.Stats) > 0 && q.Stats[0] == '{' {
		if err := json.Unmarshal(q.Stats, &s); err != nil {
			return Queue{}, fmt.Errorf("the management counts %q in an unknown form: %w", name, err)
		}
	}
	if q.Type == "stream" {
		return Queue{}, fmt.Errorf("%q is a stream, which keeps what was delivered", name)
	}
	return Queue{ID: name, Consumers: q.Consumers, Depth: q.Depth, Added: s.Publish, Delivered: s.Ack + s.NoAck + s.GetNoAck}, nil
}

// Read asks about queues of the virtual host.
func (m *RabbitMQ) Read(ctx context.Context, queues []string) (*Reading, error) {
	defer m.client.CloseIdleConnections()
	var overview struct {
		Node    string `json:"node"`
		Cluster string `json:"cluster_name"`
		Rates   string `json:"rates_mode"`
		Without bool   `json:"disable_stats"`
	}
	if err := m.get(ctx, &overview, "overview"); err != nil {
		return nil, err
	}
	if overview.Node == "" { // what users see who may only manage their own queues
		return nil, fmt.Errorf("the management does not tell the user %q about its node; the user needs the tag monitoring", m.user)
	}
	if overview.Without || overview.Rates == "none" {
		return nil, errors.New("the broker does not count the messages of its queues; set management.rates_mode = basic, and management_agent.disable_metrics_collector = false")
	}
	r := &Reading{Addr: m.at.Host, Node: overview.Cluster, Queues: map[string]Queue{}, Lags: true}
	var node struct {
		Uptime Count `json:"uptime"`
	}
	if err := m.get(ctx, &node, "nodes", overview.Node); err != nil {
		return nil, err
	}
	r.At, r.Uptime = time.Now(), time.Duration(node.Uptime)*time.Millisecond
	for _, name := range queues {
		var q rabbitQueue
		err := m.get(ctx, &q, "queues", m.vhost, name)
		switch {
		case errors.Is(err, errNotFound):
			r.Queues[name] = Queue{}
			continue
		case err == nil:
			r.Queues[name], err = q.queue(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// mostAnswer is the largest answer in bytes.
const mostAnswer = 1 << 20

var errNotFound = errors.New("the management knows nothing of this")

// get asks for the resource with these words in its path.
func (m *RabbitMQ) get(ctx context.Context, answer any, words ...string) error {
	for i, w := range words {
		words[i] = url.PathEscape(w)
	}
	at := m.at.String() + "/api/" + strings.Join(words, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	req.SetBasicAuth(m.user, m.password)
	resp, err := m.client.Do(req)
	if err != nil {
		return fmt.Errorf("the management does not answer: %w; check --management", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return fmt.Errorf("%s: %w; check --management", at, errNotFound)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the management refuses the user %q: status %d; it needs the tag monitoring", m.user, resp.StatusCode)
	default:
		return fmt.Errorf("the management answers with status %d; check --management", resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("%s does not answer as RabbitMQ does: %w; check --management", at, err)
	}
	return nil
}
