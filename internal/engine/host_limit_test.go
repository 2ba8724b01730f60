package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// errFiles is what a user's function may make of a limit of the process.
var errFiles = fmt.Errorf("my protocol: %w", syscall.EMFILE)

// limited is an asynchronous client at that limit.
type limited struct{ sink takt.Sink }

func (l limited) start(op *takt.Op) error {
	token := op.Token
	time.AfterFunc(10*time.Microsecond, func() { l.sink.Done(token, &takt.Result{Class: "mine", Err: errFiles}) })
	return nil
}

// A run whose operations fail at a limit of this host is invalid in every mode, a closed
// loop too, and says which limit.
func TestHostLimit(t *testing.T) {
	worker := fake{func(_ context.Context, _ *takt.Op, r *takt.Result) { r.Class, r.Err = "mine", errFiles }}
	for name, driver := range map[string]func() *takt.Driver{
		"worker": func() *takt.Driver {
			return &takt.Driver{Worker: func(int) (takt.Worker, error) { return worker, nil }}
		},
		"no worker": func() *takt.Driver {
			return &takt.Driver{Worker: func(i int) (takt.Worker, error) {
				if i > 0 {
					return nil, errFiles
				}
				return fake{service(time.Hour)}, nil // so that all others need a worker
			}}
		},
		"async": func() *takt.Driver {
			return &takt.Driver{Async: func(_ int, s takt.Sink) (*takt.AsyncClient, error) {
				return &takt.AsyncClient{Start: limited{s}.start}, nil
			}}
		},
	} {
		for _, rate := range []string{"997/s", "max"} {
			t.Run(name+" "+rate, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := plan(t, options(rate, 0, 2), nil)
					p.Requests = 40
					p.Source, _ = p.Options.Source()
					p.Driver = driver()
					rep := run(t, t.Context(), p)
					warned := slices.ContainsFunc(rep.Warnings, func(w takt.Warning) bool {
						return w.Code == "host_limit" && strings.Contains(w.Message, "ulimit -n")
					})
					if rep.Verdict != takt.Invalid || rep.Counts.Failed < 39 || !warned {
						t.Errorf("%s, %+v, %v", rep.Verdict, rep.Counts, rep.Warnings)
					}
					if len(rep.Errors) != 1 || rep.Errors[0].Class != engine.ClassFiles || !strings.HasPrefix(rep.Errors[0].Sample, "my protocol") {
						t.Errorf("%+v", rep.Errors)
					}
				})
			})
		}
	}
}
