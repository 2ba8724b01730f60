// Package driver is the table of protocols.
package driver

import (
	"context"
	"flag"
	"io"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// Options are the flags of one protocol and what they lead to. Rows satisfy it
// structurally.
type Options interface {
	AddFlags(fs *flag.FlagSet)
	Shape(o *engine.Options)        // fills in what the user left open; before Validate
	Validate(args []string) []error // reports every fault at once
	Variables() map[string]any      // for Report.Variables, after Validate
	Open(ctx context.Context, conns int) (*takt.Driver, error)
}

// Lister is implemented by Options whose operations may come from a list. It
// gives each operation its Data, or returns src as it is; until ctx ends it may wait
// for the first.
type Lister interface {
	Source(ctx context.Context, src takt.Source) (takt.Source, error)
}

// Contraster is implemented by Options that can show what another way of
// measuring makes of the same load. It is asked after the run and puts what it
// found into r.Extra["contrast"].
type Contraster interface {
	// Contrasts says for how long, 0 for not at all.
	Contrasts() time.Duration
	Contrast(ctx context.Context, r *takt.Report) error
}

// StdinReader is implemented by Options with flags that may name standard input,
// which can be read once: by which flags it is to be read before all runs, and by
// which in each of them.
type StdinReader interface {
	StdinReaders() (before, during []string)
}

// Row is one protocol: a subcommand.
type Row struct {
	Group, GroupShort   string   // the command that this is a subcommand of; "": takt itself
	Use, Short, Example string   // as cobra shows them
	Kind                string   // Report.Kind
	Legacy              []string // long flags that may have one dash, as a predecessor wrote them
	New                 func(stdin io.Reader) Options
}

// Table lists the protocols.
func Table() []Row {
	return []Row{
		{
			Use:   "http [flags] URL",
			Short: "load an HTTP server at a rate, or in a closed loop",
			Kind:  "http",
			Legacy: []string{ // hey's
				"host", "cpus", "h2", "disable-compression", "disable-keepalive", "disable-redirects",
			},
			Example: `  takt http --rate 1000/s --duration 30s http://127.0.0.1:8080/
  takt http --rate 100/s..2k/s -z 1m --assert 'p99<250ms' http://127.0.0.1:8080/
  takt http -n 200 -c 50 http://127.0.0.1:8080/            # hey's closed loop`,
			New: func(stdin io.Reader) Options {
				o := http.New()
				o.Stdin = stdin
				return o
			},
		},
	}
}
