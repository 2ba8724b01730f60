package takt

// Attribution divides the response time of all measured operations among its causes. The
// parts of a slice add up to its response time.
type Attribution struct {
	RTT    float64 `json:"rtt_us,omitempty"` // least round trip to the target that the kernel measured; 0: not known
	Slices []Slice `json:"slices"`           // ascending; only those with operations
}

// Slice has the operations with a response time from half of Below up to Below. The first
// slice starts at 0.
type Slice struct {
	Below      float64 `json:"below_us"` // a power of two
	Operations uint64  `json:"operations"`
	Parts
}

// Parts are seconds of response time, of several operations together, by cause.
type Parts struct {
	Late    float64 `json:"late_s"`    // the generator sent late, or kept its own requests waiting
	Unread  float64 `json:"unread_s"`  // answers lay unread in the generator and kept their connections busy
	Input   float64 `json:"input_s"`   // the list of operations had nothing yet
	Host    float64 `json:"host_s"`    // failed at a limit of the generator's host
	Queue   float64 `json:"queue_s"`   // the target had all connections
	Network float64 `json:"network_s"` // name lookup, connecting, handshake, and one round trip for each request
	Target  float64 `json:"target_s"`  // the rest of the service time
}

// Generator is the time that the generator and its host caused.
func (p Parts) Generator() float64 { return p.Late + p.Unread + p.Host }

// Total is the response time of all together.
func (p Parts) Total() float64 {
	return p.Late + p.Unread + p.Input + p.Host + p.Queue + p.Network + p.Target
}

// Plus is the sum of both.
func (p Parts) Plus(o Parts) Parts {
	return Parts{
		p.Late + o.Late, p.Unread + o.Unread, p.Input + o.Input, p.Host + o.Host,
		p.Queue + o.Queue, p.Network + o.Network, p.Target + o.Target,
	}
}

// Whole is all slices together.
func (a Attribution) Whole() (p Parts) {
	for _, s := range a.Slices {
		p = p.Plus(s.Parts)
	}
	return p
}

// Slowest has the slowest operations, at least that share of all: whole slices. From is the
// response time, in microseconds, from which on operations are in it.
func (a Attribution) Slowest(share float64) (from float64, p Parts) {
	var all, operations uint64
	for _, s := range a.Slices {
		all += s.Operations
	}
	for i := len(a.Slices) - 1; i >= 0; i-- {
		s := a.Slices[i]
		operations, p, from = operations+s.Operations, p.Plus(s.Parts), s.Below/2
		if float64(operations) >= share*float64(all) {
			break
		}
	}
	return from, p
}
