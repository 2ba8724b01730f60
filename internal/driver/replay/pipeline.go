package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/order"
	"github.com/taktload/takt/internal/trace/reader"
	"github.com/taktload/takt/internal/trace/reading"
	"github.com/taktload/takt/internal/trace/requests"
)

// pipeline reads the logs. Only one goroutine may use it, except for seen: the run may end during a
// read, and must still report what was read.
type pipeline struct {
	src    trace.Stream
	logs   []*reading.Log     // the open log, which may read several files; empty: closed
	timed  *order.TimedStream // nil with a rate
	rewind *rewound           // nil without --rewind
	fits   *fitting
	follow *reading.Follower // nil: the logs are not followed
	before account           // of the passes that have ended

	reads uint64
	mu    sync.Mutex // guards kept
	kept  account    // what seen returns
}

// account counts what happened to the lines of the logs.
type account struct {
	lines    reader.Counts
	selected requests.Selected
	removed  uint64 // secret parameters that were removed
	refused  uint64 // requests that cannot be sent, see fitting
	hostless uint64 // requests without a host to keep, see fitting
	late     order.Late
	crowded  uint64 // requests that one second had no room for
	spread   uint64 // requests that were spread over their second
	fine     uint64 // requests that were spread over their millisecond
	again    uint64 // how often the logs started again
	pass     uint64 // requests of one pass; 0: unknown
	nothing  string // why not one request was taken, and what to do; "": not known
}

// openLogs opens the logs and connects the stages that read, filter and order their requests.
func (o *Options) openLogs(ctx context.Context) (*pipeline, error) {
	p := &pipeline{}
	g := o.reading()
	log, err := p.open(ctx, o, &g)
	if err != nil {
		return nil, err
	}
	p.fits = &fitting{src: log, most: o.longestBody(), s3: o.Seed.S3, keepHost: o.KeepHost, drops: o.dropsHeader}
	p.src = p.fits
	switch {
	case o.Seed.Rewind:
		p.rewind = &rewound{src: p.fits, again: func(reopen bool) error { return p.again(ctx, o, &g, reopen) }}
		p.src = p.rewind
	case o.engine.Recorded && !o.Seed.Tail:
		p.timed = order.Timed(p.fits, o.timing())
		p.src = p.timed
	}
	return p, nil
}

func (p *pipeline) open(ctx context.Context, o *Options, g *reading.Settings) (*reading.Log, error) {
	if o.Seed.Tail {
		log, follow, err := g.Follow(o.logs[0])
		p.follow, p.logs = follow, []*reading.Log{log}
		return log, err
	}
	log, err := g.Open(ctx, o.logs, o.stdin())
	if err == nil {
		p.logs = []*reading.Log{log}
	}
	return log, err
}

// again starts another pass. reopen: the requests are not in memory, so open the logs again.
func (p *pipeline) again(ctx context.Context, o *Options, g *reading.Settings, reopen bool) error {
	p.before = p.now()
	p.before.again++
	p.closeLogs()
	if !reopen {
		return nil
	}
	log, err := p.open(ctx, o, g)
	p.fits.src = log
	return err
}

// everyReads is how many reads pass between updates of the account, after as many single updates.
const everyReads = 1024

// Next implements trace.Stream.
func (p *pipeline) Next(rec *trace.Record) error {
	err := p.src.Next(rec)
	p.reads++
	if err != nil || p.reads <= everyReads || p.reads%everyReads == 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.kept = p.now()
	}
	return err
}

// now computes the current account.
func (p *pipeline) now() account {
	a := p.before
	a.refused, a.hostless = p.fits.refused, p.fits.hostless
	for _, l := range p.logs {
		c, s := l.Counts(), l.Selected()
		if a.again > 0 {
			c.Faults = nil // they are already listed from the first pass
		}
		a.lines.Faults = a.lines.Faults[:len(a.lines.Faults):len(a.lines.Faults)]
		a.lines.Add(c)
		a.selected.Kept += s.Kept
		a.selected.Method += s.Method
		a.selected.Path += s.Path
		a.selected.Status += s.Status
		a.selected.Client += s.Client
		a.removed += l.Removed()
		a.nothing = l.Nothing()
	}
	if p.rewind != nil && p.rewind.passed {
		a.pass = uint64(len(p.rewind.kept))
	}
	if p.timed != nil {
		a.late, a.crowded, a.spread, a.fine = p.timed.Late(), p.timed.Crowded(), p.timed.Spread(), p.timed.Fine()
	}
	return a
}

// seen is what was read so far. During the reading up to 1024 requests may be missing.
func (p *pipeline) seen() account {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

func (p *pipeline) closeLogs() {
	for _, l := range p.logs {
		l.Close()
	}
	p.logs = nil
}

// Close implements io.Closer. trace.Ahead calls it when the reading is over.
func (p *pipeline) Close() error {
	p.closeLogs()
	return nil
}

// text is the account on one line.
func (a account) text() string {
	c, s := &a.lines, &a.selected
	text := figure.Plural(c.Lines, "line") + ", " + figure.Plural(c.Records, "request")
	for _, count := range []struct {
		n    uint64
		form string
	}{
		{c.NoRequest, ", %d without a request"}, {c.Bad, ", %d bad"}, {s.Method, ", %d left out by method"}, {s.Path, ", %d by path"},
		{s.Status, ", %d by status"}, {s.Client, ", %d of other clients"}, {a.refused, ", %d that cannot be sent"},
		{a.hostless, ", %d without a host to keep"},
	} {
		if count.n > 0 {
			text += fmt.Sprintf(count.form, count.n)
		}
	}
	return text + c.LeftOut()
}

// fitting leaves out requests that cannot be sent: bodies that are too large for a connection's
// memory, and methods that takt does not sign for S3.
type fitting struct {
	src      trace.Stream
	most     int64 // largest body, bytes
	s3       bool
	keepHost bool
	drops    func(header string) bool // reports whether a flag replaces the header
	refused  uint64                   // requests that were left out
	hostless uint64                   // requests without a host that can be sent; only with keepHost
}

// Next implements trace.Stream.
func (f *fitting) Next(rec *trace.Record) error {
	for {
		err := f.src.Next(rec)
		if err != nil {
			return err
		}
		if f.fits(rec) {
			f.fit(rec)
			return nil
		}
		f.refused++
	}
}

// fit removes the recorded headers that flags replace, and counts a host that cannot be kept.
func (f *fitting) fit(rec *trace.Record) {
	if f.keepHost && !isHost(rec.Host) {
		f.hostless++
	}
	if len(rec.Header) > 0 {
		rec.DropFields(f.drops)
	}
}

// dropsHeader reports whether a flag replaces a recorded header.
func (o *Options) dropsHeader(name string) bool {
	return o.HTTP.SendsHeader(name) || name == "content-type" && o.HTTP.ContentType != randomType
}

func (f *fitting) fits(rec *trace.Record) bool {
	if !isReading(rec.Method) && rec.RequestBytes > f.most {
		return false
	}
	return !f.s3 || isReading(rec.Method) || string(rec.Method) == "PUT"
}

// isReading reports whether a method has no request body.
func isReading(method []byte) bool { return string(method) == "GET" || string(method) == "HEAD" }
