package kept

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// A store that hangs costs a run a bounded time, after a second signal little, and never
// its report.
func TestStoreThatHangs(t *testing.T) {
	for _, test := range []struct {
		name   string
		signal time.Duration // of the second one; 0: none
		took   time.Duration
		says   string
	}{
		{"no signal", 0, saveTime + Grace, "does not answer: no answer within 10s; its report waits in"},
		{"second signal meanwhile", 3 * time.Second, 3*time.Second + abortTime + Grace, "does not answer: a second signal came; its report waits in"},
		{"second signal before", time.Nanosecond, time.Nanosecond + abortTime + Grace, "does not answer: a second signal came; its report waits in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home, abort, never := t.TempDir(), make(chan struct{}), make(chan struct{})
				if test.signal > 0 {
					time.AfterFunc(test.signal, func() { close(abort) })
				}
				var said bytes.Buffer
				env := core.Env{Stderr: &said, Abort: abort, Getenv: func(string) string { return home }}
				begin := time.Now()
				new(Storing).keepBy(env, &takt.Report{ID: "R1", SchemaVersion: 1}, func(context.Context) error { <-never; return nil })
				if took := time.Since(begin); took != test.took || !strings.Contains(said.String(), test.says) {
					t.Errorf("after %v, want %v: %s", took, test.took, &said)
				}
				if left, err := filepath.Glob(filepath.Join(home, "takt", "spool", "R1.json")); err != nil || len(left) != 1 {
					t.Errorf("spool: %v, %v", left, err)
				}
				close(never)
			})
		})
	}
}

// A command that reads a store which hangs ends with the signal.
func TestReadingAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(&core.SignalError{Number: 15}) })
		env := core.Env{Interrupt: ctx, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}
		hangs := func(context.Context, string, store.Options) (store.Store, error) { <-never; return nil, nil }
		begin := time.Now()
		_, err := (&Storing{Where: "x"}).open(ctx, env, hangs)
		if code, took := env.Exit(err), time.Since(begin); code != 143 || took != 3*time.Second+Grace {
			t.Errorf("exit code %d after %v: %v", code, took, err)
		}
		begin = time.Now()
		_, err = (&Storing{Where: "x"}).open(t.Context(), env, hangs)
		if took := time.Since(begin); took != saveTime+Grace || !strings.Contains(err.Error(), "no answer within 10s") {
			t.Errorf("after %v: %v", took, err)
		}
		close(never)
	})
}
