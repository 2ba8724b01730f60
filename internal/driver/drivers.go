// Package driver is the table of protocols.
package driver

import (
	"context"
	"flag"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// Options are the flags of one protocol and what they lead to. Rows satisfy it
// structurally.
type Options interface {
	AddFlags(fs *flag.FlagSet)
	Validate(args []string) []error // reports every fault at once
	Shape(o *engine.Options)        // fills in what the user left open
	Variables() map[string]any      // for Report.Variables, after Validate
	Open(ctx context.Context, conns int) (*takt.Driver, error)
}

// Row is one protocol: a subcommand.
type Row struct {
	Use, Short, Example string // as cobra shows them
	Kind                string // Report.Kind
	New                 func() Options
}

// Table lists the protocols.
func Table() []Row {
	return []Row{
		{
			Use:   "http [flags] URL",
			Short: "load an HTTP server at a rate, or in a closed loop",
			Kind:  "http",
			Example: `  takt http --rate 1000/s --duration 30s http://127.0.0.1:8080/
  takt http --rate 100/s..2k/s -z 1m --assert 'p99<250ms' http://127.0.0.1:8080/
  takt http -n 200 -c 50 http://127.0.0.1:8080/            # hey's closed loop`,
			New: func() Options { return http.New() },
		},
	}
}
