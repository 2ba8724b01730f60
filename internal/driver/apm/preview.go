package apm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/pkg/takt"
)

// Plans is driver.Load.Plans.
func (o *Options) Plans() bool { return o.Describe || o.Dump }

// Plan is driver.Load.Plan: it does --describe and --dump.
func (o *Options) Plan(_ context.Context, w io.Writer, _ takt.Source) error {
	p, err := o.newPlan()
	if err != nil {
		return err
	}
	if o.Describe {
		for _, t := range p.targets() {
			t.preview(w)
		}
	}
	if o.Dump {
		err = o.dump(w, p)
	}
	return err
}

func (p *plan) targets() (all []*target) {
	for _, s := range p.servers {
		all = append(all, s.targets...)
	}
	return all
}

// preview describes the requests to a target by its first body; the others are similar.
func (t *target) preview(w io.Writer) {
	c, s := t.requests[0].content, t.part.shape
	fmt.Fprintf(w, "%s %s\n", t.method, t.url.Redacted())
	if c.plain == 0 {
		return
	}
	fmt.Fprintf(w, "  %d bytes, %d on the wire, one of %d bodies\n", c.plain, c.wire, len(t.requests))
	if s.transactions > 0 {
		fmt.Fprintf(w, "  transactions: %d, spans of each: %s, frames of a span: %d\n", s.transactions, s.spansText(), s.frames)
	}
	if s.errors > 0 {
		fmt.Fprintf(w, "  errors: %d, frames of each: %d\n", s.errors, s.errorFrames)
	}
	if s.metrics > 0 {
		fmt.Fprintf(w, "  metricsets: %d\n", s.metrics)
	}
}

// spansText is the number of spans, or its range.
func (s shape) spansText() string {
	low, high := s.spansOf(0), s.spansOf(0)
	for i := range s.transactions {
		low, high = min(low, s.spansOf(i)), max(high, s.spansOf(i))
	}
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// dump writes targets in the form of loadbeat's configuration to a file named after the
// profile, or METHOD_errors_transactions_spans_frames_workers.
func (o *Options) dump(w io.Writer, p *plan) error {
	name := strings.ReplaceAll(o.Profile, "/", "_")
	if name == "" {
		s := o.mix.parts[0].shape
		name = fmt.Sprintf("%s_%d_%d_%s_%d_%d", o.method, s.errors, s.transactions, s.spansText(), s.frames, max(1, o.workers))
	}
	var b strings.Builder
	b.WriteString("loadbeat:\n  targets:\n")
	for _, t := range p.targets() {
		o.dumpTarget(&b, t)
	}
	name += ".yml"
	if err := files.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write the targets: %w; run in a folder where you may write", err)
	}
	_, err := fmt.Fprintf(w, "%s: %d bytes\n", name, b.Len())
	return err
}

// dumpTarget writes one target without credentials. A JSON string is also valid YAML.
func (o *Options) dumpTarget(b *strings.Builder, t *target) {
	workers := t.part.workers
	if o.Profile == "" {
		workers = max(1, o.workers)
	}
	fmt.Fprintf(b, "    - concurrent: %d\n      qps: %g\n      method: %s\n      url: %s\n", workers, t.part.rate, t.method, quoted(t.url.Redacted()))
	if text := o.firstBody(t.part); text != "" {
		kind := cmp.Or(map[bool]string{true: "application/json"}[o.v1()], "application/x-ndjson")
		fmt.Fprintf(b, "      headers:\n        - \"Content-Type:%s\"\n      body: %s\n", kind, quoted(text))
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // cannot fail for a string
	return string(b)
}

// firstBody is the text of the first body of a part.
func (o *Options) firstBody(p part) string {
	switch {
	case p.raw != "" || p.kind == kindHealth || p.kind == kindWrongMethod:
		return p.raw
	}
	return string(newMaker(o.seed, o.formOf(p.kind), time.Now()).body(p.shape).text)
}

// Body is one uncompressed body, after Validate.
func (o *Options) Body() []byte { return []byte(o.firstBody(o.mix.parts[0])) }
