// Package manage asks brokers what became of the messages in their queues.
package manage

import (
	"encoding/json"
	"strconv"
	"time"
)

// Reading is what a broker says of queues at one instant.
type Reading struct {
	At     time.Time
	Addr   string           // broker that answered
	Node   string           // its id, which a pair shares
	Uptime time.Duration    // of the broker
	Queues map[string]Queue // by name

	// Lags: the counters are older than the reading. Uptime changes whenever the broker counts anew.
	Lags bool
}

// Restarted reports whether a broker's counters began anew between two readings.
func (r *Reading) Restarted(since *Reading) bool {
	return r.Addr != since.Addr || r.Uptime < r.At.Sub(since.At)
}

// Empty reports whether no queue exists.
func (r *Reading) Empty() bool {
	for _, q := range r.Queues {
		if q.ID != "" {
			return false
		}
	}
	return true
}

// Queue are a queue's counters since the broker started, except for the depth. A queue that does not
// exist has none, and no ID.
type Queue struct {
	ID        string `json:"id"`
	Consumers Count  `json:"consumerCount"`
	Depth     Count  `json:"messageCount"`
	Added     Count  `json:"messagesAdded"`
	Delivered Count  `json:"messagesAcked"` // acknowledged by consumers
	Expired   Count  `json:"messagesExpired"`
	Dead      Count  `json:"messagesKilled"`
}

// Count is a number, which Artemis writes as a text.
type Count uint64

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	n, err := strconv.ParseUint(s, 10, 53)
	*c = Count(n)
	return err
}
