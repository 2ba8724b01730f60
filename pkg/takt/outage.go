package takt

// MaxOutages is the largest number of outages in a report; a longer list loses its last ones.
const MaxOutages = 100

// Outage is a time in which parts of the target did not do their work, as takt saw it from outside.
// A part is a connection to a broker, or a partition.
type Outage struct {
	From         float64  `json:"from_s"`          // first lost connection or failed attempt, since the start of the run, like Interval.T
	To           *float64 `json:"to_s"`            // from when on each affected part has worked again; nil: not before the end of the run
	FirstSuccess *float64 `json:"first_success_s"` // time from From until the first affected part worked again; nil: none did
	Parts        int      `json:"parts"`           // number of affected parts
	First        string   `json:"first"`           // the first affected part
	Cause        string   `json:"cause"`           // the first error
	Failed       uint64   `json:"failed"`          // operations that failed because of it
	Retried      uint64   `json:"retried"`         // operations that were sent again because of it
	Lost         *uint64  `json:"lost"`            // acknowledged and never received; nil: nobody counted, as in the next fields
	Doubled      *uint64  `json:"doubled"`
	Reordered    *uint64  `json:"reordered"`
}

// Fault is a command that the user let takt run during the run, such as one that stops a broker.
type Fault struct {
	Command  string   `json:"command"`   // secrets redacted
	From     float64  `json:"from_s"`    // its start, since the start of the run
	To       *float64 `json:"to_s"`      // its end; nil: it did not start
	ExitCode *int     `json:"exit_code"` // -1: ended by a signal; nil: it did not start
	Stopped  bool     `json:"stopped"`   // takt ended it
	Output   string   `json:"output"`    // the last of what it wrote
}
