// Package apmserver is the server under test: one that runs elsewhere, one of a local
// checkout, or one in a container. It starts, watches and stops it, counts its documents
// in Elasticsearch, and makes trials of it.
package apmserver

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Server is where the server under test comes from.
type Server interface {
	// Location says where, as a user's settings keep it.
	Location() Location
	// Switch makes a revision of the code the one that Start starts. What git, make or
	// the engine say goes to out when s.Verbose, their errors always. After a failure no
	// revision is known.
	Switch(ctx context.Context, s Switch, out io.Writer) (Revision, error)
	// Revision is what the last Switch made, the zero Revision before the first.
	Revision() Revision
	// Start starts it, and returns once it takes events. The end of ctx ends the start,
	// and no server that has started.
	Start(ctx context.Context, o Options) (*Running, error)
}

// current is the revision of a server. Sessions ask for it while a job switches.
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

// Location says where a server under test comes from. It holds no secret.
type Location struct {
	Kind       string   `json:"kind"`
	URLs       []string `json:"urls,omitempty"`       // of KindRemote
	Dir        string   `json:"dir,omitempty"`        // of KindCheckout: the clone
	Dockerfile string   `json:"dockerfile,omitempty"` // of KindDocker; "": takt's own
	Repository string   `json:"repository,omitempty"` // of KindDocker, a git URL; "": Elastic's
}

// String is the location in a few words.
func (l Location) String() string {
	switch l.Kind {
	case KindRemote:
		return joined(l.URLs)
	case KindDocker:
		return "docker"
	}
	return l.Dir
}

// CheckLimits refuses limits that nothing would hold the server to: only the engine of
// containers can. A limit that did nothing would stand in the report.
func (l Location) CheckLimits(o *Options) error {
	if l.Kind == KindDocker || o.MemoryLimit == 0 && o.CPULimit == 0 {
		return nil
	}
	return fmt.Errorf("--mem and --cpu limit a container, which the server of %s is not; leave them out, or test in one: apm use docker", l)
}

// Output is the cluster that the server writes to, and where its documents are counted.
type Output struct {
	URL      string // for HTTP, without credentials: OpenDocuments makes it so
	User     string
	Password takt.Secret
}

// Use is what a user has chosen, and when: what settings keep of it. The password is in
// none of them.
type Use struct {
	Location    Location  `json:"location"`
	ElasticURL  string    `json:"elastic_url,omitempty"`
	ElasticUser string    `json:"elastic_user,omitempty"`
	LastUsed    time.Time `json:"last_used"`
}

// Options are how a server is started.
type Options struct {
	Flags       []string      // for apm-server: -E NAME=VALUE and others
	Output      Output        // URL "": apm-server's own settings say it
	MemoryLimit int64         // bytes, without swap; 0: none; in containers only
	CPULimit    float64       // cores; 0: none; in containers only
	Secret      takt.Secret   // its secret token; with it the server says more of itself
	Patience    time.Duration // until it takes events, from its start on; 0: a minute
	Out         io.Writer     // narration: the command line and what it waits for
	Log         *Log          // what the server says; nil: nobody reads it
}

func (o *Options) patience() time.Duration {
	if o.Patience > 0 {
		return o.Patience
	}
	return time.Minute
}

// Running is a server that takes events.
type Running struct {
	URLs    []string // without a slash at the end
	Managed bool     // takt started it, and knows its process
	Version string   // as it says itself; "": it did not say

	secret takt.Secret
	stats  string          // URL of libbeat's counters; "": not known
	shown  []string        // the URLs at which counters were found
	pid    int             // 0: not known
	done   <-chan struct{} // closed when it has ended; nil: nobody knows
	err    func() error    // why it ended, once done is closed
	stop   func() error
}

// Done is closed when the server has ended. It is nil, which never is, for a server that
// runs elsewhere.
func (r *Running) Done() <-chan struct{} { return r.done }

// Err says why the server has ended, once Done is closed.
func (r *Running) Err() error { return r.err() }

// Stop ends the server and waits for its end: asked first, killed after stopTime. One
// that runs elsewhere goes on.
func (r *Running) Stop() error {
	if r.stop == nil {
		return nil
	}
	return r.stop()
}

// stopTime is how long a server may take to end by itself. apm-server waits 5 s for its
// output.
const stopTime = 10 * time.Second
