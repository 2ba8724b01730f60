// Package fleet makes one run of the processes on many machines. A gatherer knows who takes part,
// gives all of them one start, and merges what they report. A member sends one shard of the load.
// Whoever starts the processes (Kubernetes, Slurm, ssh) is not its business.
//
// Both sides talk over one connection for each member: an HTTP request that switches to lines of
// JSON. The member measures how far the gatherer's clock is ahead of its own.
package fleet

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/live"
)

// protocol is the name to which the HTTP request switches. Both sides have the same version of
// takt, so it needs no version of its own.
const protocol = "takt-fleet"

const (
	beat     = time.Second      // between two lines at least, in both directions
	silence  = 5 * beat         // after which the other side counts as lost: a virtual machine that is moved stands still for up to 3 s
	maxShort = 4 << 20          // size of a line without a report, in bytes: a thousand members may send one at once
	maxLine  = 64 << 20         // size of a line in bytes; a report of a day has some megabytes
	greet    = 10 * time.Second // most time for the request that opens a connection
)

// Hello is what a member says of itself.
type Hello struct {
	Version string `json:"version"` // of takt
	Host    string `json:"host"`    // name of its machine; "": unknown
}

// toMember is a line of the gatherer. An empty one is a beat.
type toMember struct {
	Welcome  *welcome          `json:"welcome,omitempty"` // the first line
	Clock    *reading          `json:"clock,omitempty"`
	Round    int               `json:"round,omitempty"`    // that Order to Taken are about
	Words    []string          `json:"words,omitempty"`    // prepare a run: its command line
	Settings map[string]string `json:"settings,omitempty"` // what shapes the load, by name
	Start    *int64            `json:"start,omitempty"`    // its origin by the gatherer's clock, in ns
	Stop     string            `json:"stop,omitempty"`     // end the run, for this reason
	Abort    bool              `json:"abort,omitempty"`    // and do not drain
	Give     bool              `json:"give,omitempty"`     // send the report
	Taken    bool              `json:"taken,omitempty"`    // the report is merged
	End      *ending           `json:"end,omitempty"`      // the last line
	Lost     string            `json:"lost,omitempty"`     // why the gatherer gave the member up; the last line, too
}

type welcome struct {
	Shard  string `json:"shard"` // k/n
	Shards int    `json:"shards"`
}

type ending struct {
	Code   int    `json:"code"` // exit code of the fleet
	Reason string `json:"reason,omitempty"`
}

// toGatherer is a line of a member. An empty one is a beat.
type toGatherer struct {
	Round  int             `json:"round,omitempty"` // that Ready to Report are about
	Asks   *int64          `json:"asks,omitempty"`  // asks for a reading: the member's clock, in ns
	Clock  *Offset         `json:"clock,omitempty"` // the newest
	Ready  *Ready          `json:"ready,omitempty"`
	Armed  bool            `json:"armed,omitempty"` // it will start in time
	Second *live.Snapshot  `json:"second,omitempty"`
	Failed *Failure        `json:"failed,omitempty"` // there is no report
	Over   *over           `json:"over,omitempty"`   // the run has ended; its report waits for give
	Report json.RawMessage `json:"report,omitempty"` // in the form of the stores
}

// Ready is what a member knows of its run when it could start.
type Ready struct {
	Head  live.Head         `json:"head"`
	Files map[string]string `json:"files,omitempty"` // digests of the files that the load reads, by name
}

// over says why a run ended before its schedule did; "": it did not.
type over struct {
	Early string `json:"early,omitempty"`
}

// Failure says why a run has no report.
type Failure struct {
	Code   int    `json:"code"` // exit code of the command
	Reason string `json:"reason"`
}

// LostError is the error of a run that did not have all its shards.
type LostError struct{ Reason string }

// Error implements error.
func (e *LostError) Error() string { return e.Reason }

// FailedError is the error of a shard that could not make its run.
type FailedError struct {
	Shard, Host string
	Failure
}

// Error implements error.
func (e *FailedError) Error() string {
	return fmt.Sprintf("shard %s (%s): %s", e.Shard, e.Host, e.Reason)
}
