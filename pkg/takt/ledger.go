package takt

// Ledger holds what a run counted against what the broker counted. All numbers are messages, of
// the warm-up too. The zero Ledger: the broker was not asked.
type Ledger struct {
	Source       string  `json:"source"`       // where the broker's numbers are from
	Acknowledged uint64  `json:"acknowledged"` // by the broker
	Uncertain    uint64  `json:"uncertain"`    // not acknowledged: the broker may have them
	Stored       *uint64 `json:"stored"`       // gained by the broker; nil: unknown, or others may have written them
	Missing      uint64  `json:"missing"`      // acknowledged and not stored, at least
	Surplus      uint64  `json:"surplus"`      // stored beyond Acknowledged + Uncertain: doubled, or written by others

	// Of queues only. They include messages of others.
	Delivered *uint64 `json:"delivered,omitempty"` // acknowledged by consumers; nil: unknown
	Expired   uint64  `json:"expired,omitempty"`   // removed because their time to live was over
	Dead      uint64  `json:"dead,omitempty"`      // removed because no consumer accepted them
	Removed   uint64  `json:"removed,omitempty"`   // removed, of brokers that do not say why
}

// Balanced reports whether the broker stored what it acknowledged, and nothing else, and removed
// nothing that no consumer accepted.
func (l Ledger) Balanced() bool {
	return l.Missing == 0 && l.Surplus == 0 && l.Expired == 0 && l.Dead == 0 && l.Removed == 0
}

// Plus is the ledger of two shards of one run. Each saw what the other one wrote, so nothing of
// the whole says what the broker gained.
func (l Ledger) Plus(o Ledger) Ledger {
	switch {
	case l == Ledger{}:
		return o
	case o == Ledger{}:
		return l
	}
	return Ledger{
		Source:       l.Source,
		Acknowledged: l.Acknowledged + o.Acknowledged,
		Uncertain:    l.Uncertain + o.Uncertain,
		Missing:      l.Missing + o.Missing,
		Surplus:      l.Surplus + o.Surplus,
		Expired:      max(l.Expired, o.Expired), // of the same queues
		Dead:         max(l.Dead, o.Dead),
		Removed:      max(l.Removed, o.Removed),
	}
}
