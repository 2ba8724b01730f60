package takt

// Attribution splits the response time of all measured operations by cause. The parts of a
// slice add up to its response time.
type Attribution struct {
	RTT    float64 `json:"rtt_us,omitempty"` // shortest round trip to the target that the kernel measured; 0: unknown
	Slices []Slice `json:"slices"`           // ascending; only slices with operations
}

// Slice is the operations with a response time from half of Below up to Below. The first
// slice starts at 0.
type Slice struct {
	Below      float64 `json:"below_us"` // a power of two
	Operations uint64  `json:"operations"`
	Parts
}

// Parts are seconds of response time by cause, summed over several operations.
type Parts struct {
	Late    float64 `json:"late_s"`    // the generator sent late, or delayed its own requests
	Unread  float64 `json:"unread_s"`  // unread answers in the generator kept connections busy
	Input   float64 `json:"input_s"`   // the list had no operation yet
	Host    float64 `json:"host_s"`    // failed at a limit of the generator's host
	Queue   float64 `json:"queue_s"`   // the target used all connections
	Network float64 `json:"network_s"` // name lookup, connecting, handshake, and one round trip for each request
	Target  float64 `json:"target_s"`  // the rest of the service time
}

// Generator is the time that the generator and its host caused.
func (p Parts) Generator() float64 { return p.Late + p.Unread + p.Host }

// Total is the sum of all parts: the response time.
func (p Parts) Total() float64 {
	return p.Late + p.Unread + p.Input + p.Host + p.Queue + p.Network + p.Target
}

// Plus is the sum of p and o.
func (p Parts) Plus(o Parts) Parts {
	return Parts{
		p.Late + o.Late, p.Unread + o.Unread, p.Input + o.Input, p.Host + o.Host,
		p.Queue + o.Queue, p.Network + o.Network, p.Target + o.Target,
	}
}

// Whole is the sum of all slices.
func (a Attribution) Whole() (p Parts) {
	for _, s := range a.Slices {
		p = p.Plus(s.Parts)
	}
	return p
}

// Slowest is the sum of the slowest slices that together have at least this share of all
// operations. from is the shortest response time in these slices, in microseconds.
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
