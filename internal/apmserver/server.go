// Package apmserver is the server under test: remote, from a local checkout, or in a
// container. It starts, watches and stops the server, counts its documents in Elasticsearch,
// and runs trials.
package apmserver

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/pkg/takt"
)

// Server is a source of the server under test.
type Server interface {
	// Location is the source, for the user's settings.
	Location() Location
	// Switch selects the revision that Start starts. If s.Verbose, all output of git, make or
	// the engine goes to out, otherwise only errors. After a failure no revision is known.
	Switch(ctx context.Context, s Switch, out io.Writer) (Revision, error)
	// Revision is the result of the last Switch; zero before the first.
	Revision() Revision
	// Start starts the server and returns when it accepts events. The end of ctx ends the
	// start, but not a started server.
	Start(ctx context.Context, o Options) (*Running, error)
}

// current is the revision of a server. Sessions read it while a job switches.
type current struct {
	mu sync.Mutex
	r  Revision
}

// Revision implements Server.
func (c *current) Revision() Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r
}

func (c *current) set(r Revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.r = r
}

// Kinds of locations.
const (
	KindRemote   = "remote"
	KindCheckout = "checkout"
	KindDocker   = "docker"
)

// Location is the source of a server under test. It contains no secret.
type Location struct {
	Kind       string   `json:"kind"`
	URLs       []string `json:"urls,omitempty"`       // addresses, for KindRemote
	Dir        string   `json:"dir,omitempty"`        // folder of the clone, for KindCheckout
	Dockerfile string   `json:"dockerfile,omitempty"` // for KindDocker; "": takt's own
	Folder     string   `json:"folder,omitempty"`     // above Dockerfile, no link leads out of it; "": that of Dockerfile
	Repository string   `json:"repository,omitempty"` // git URL, for KindDocker; "": Elastic's
}

// String is a short description of the location.
func (l Location) String() string {
	switch l.Kind {
	case KindRemote:
		return joined(l.URLs)
	case KindDocker:
		return "docker"
	}
	return l.Dir
}

// CheckLimits refuses limits without effect: only the container engine can enforce them. A
// limit without effect would be in the report.
func (l Location) CheckLimits(o *Options) error {
	if l.Kind == KindDocker || o.MemoryLimit == 0 && o.CPULimit == 0 {
		return nil
	}
	return fmt.Errorf("--mem and --cpu limit a container, which the server of %s is not; leave them out, or test in one: apm use docker", l)
}

// Output is the cluster that the server writes to and that counts its documents.
type Output struct {
	URL      string // HTTP URL without credentials, as made by OpenDocuments
	User     string
	Password takt.Secret
}

// Use is a user's choice and its time, for the settings. It contains no password.
type Use struct {
	Location    Location  `json:"location"`
	ElasticURL  string    `json:"elastic_url,omitempty"`
	ElasticUser string    `json:"elastic_user,omitempty"`
	LastUsed    time.Time `json:"last_used"`
}

// Options are the settings for starting a server.
type Options struct {
	Flags       []string      // flags of apm-server: -E NAME=VALUE and others
	Output      Output        // output of the server; URL "": apm-server's own settings apply
	MemoryLimit int64         // memory limit in bytes, without swap; 0: none; containers only
	CPULimit    float64       // CPU limit in cores; 0: none; containers only
	Secret      takt.Secret   // secret token; with it the server reveals more about itself
	Patience    time.Duration // time limit until it accepts events; 0: a minute
	Out         io.Writer     // narration: the command line and what it waits for
	Log         *process.Log  // receives the server's output; nil: not read
}

func (o *Options) patience() time.Duration {
	if o.Patience > 0 {
		return o.Patience
	}
	return time.Minute
}

// Running is a server that accepts events.
type Running struct {
	URLs    []string // without a slash at the end
	Managed bool     // takt started the server and knows its process
	Version string   // version that the server reports; "": unknown

	secret takt.Secret
	stats  string          // URL of libbeat's counters; "": unknown
	shown  []string        // URLs at which counters were found
	pid    int             // 0: unknown
	done   <-chan struct{} // closed when the server has ended; nil: unknown
	err    func() error    // why it ended; valid once done is closed
	stop   func() error
}

// Done is closed when the server has ended. For a remote server it is nil and never closed.
func (r *Running) Done() <-chan struct{} { return r.done }

// Err is why the server ended; valid once Done is closed.
func (r *Running) Err() error { return r.err() }

// Stop asks the server to end, kills it after stopTime, and waits for its end. A remote
// server continues.
func (r *Running) Stop() error {
	if r.stop == nil {
		return nil
	}
	return r.stop()
}

// stopTime is the time that a server has to end by itself. apm-server waits 5 s for its
// output.
const stopTime = 10 * time.Second
