// Package clitest runs takt in the process of a test.
package clitest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/pkg/takt"
)

// Call runs main, which is cli.Main, with an empty environment and standard input.
func Call(ctx context.Context, main func(core.Env, []string) int, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Interrupt: ctx,
	}, args)
	return code, out.String(), errs.String()
}

// Tripwire calls Spring when Text is written to it.
type Tripwire struct {
	Text   string
	Spring func()
}

// Write implements io.Writer.
func (w *Tripwire) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.Text) {
		w.Spring()
	}
	return len(b), nil
}

// Report is the i-th report of a store, of a run at that time: 2000 rates, 10 branches.
func Report(i int, at time.Time) *takt.Report {
	branch := "main"
	if i%10 > 0 {
		branch = fmt.Sprintf("topic-%d", i%10)
	}
	revision := i / 10 / 200 / 5
	return &takt.Report{
		SchemaVersion: takt.SchemaVersion, ID: fmt.Sprintf("%026d", i), Kind: "http", StartedAt: at, DurationS: 30, Verdict: takt.Valid,
		Labels: map[string]string{
			"branch": branch, "revision": fmt.Sprintf("%040x", revision),
			"revision_date": at.Truncate(10 * 200 * 5 * time.Minute).Format(time.RFC3339),
		},
		Variables: map[string]any{"rate_per_s": float64(100 * (1 + i/10%200)), "duration_s": 30.0, "host": "127.0.0.1:8080", "path": "/", "method": "GET", "connections": 50.0},
		Schedule:  takt.Schedule{Shard: "1/1"},
		Counts:    takt.Counts{Scheduled: 3000, Sent: 3000, OK: 3000},
		Latency: map[string]takt.Latency{
			takt.LatencyResponse: {Count: 3000, Min: 100, Mean: 200, P50: 150 + float64(i%17), P99: 400 + float64(i%23), P99_9: 500, Max: 600},
			takt.LatencyService:  {Count: 3000, Min: 100, Mean: 200, P50: 150, P99: 400, P99_9: 500, Max: 600},
		},
	}
}
