package replay

import (
	"context"
	"io"
	"sync"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/reader"
)

// pipeline reads the logs. Only one goroutine may use it, except for seen: the run may end during a
// read, and must still report what was read.
type pipeline struct {
	src    trace.Stream
	logs   []*reader.Log      // the open log, which may read several files; empty: closed
	names  []string           // of its files
	timed  *trace.TimedStream // nil with a rate
	rewind *rewound           // nil without --rewind
	fits   *fitting
	follow *reader.Follower // nil: the logs are not followed
	before account          // of the passes that have ended

	reads uint64
	mu    sync.Mutex // guards kept
	kept  account    // what seen returns
}

// account counts what happened to the lines of the logs.
type account struct {
	lines   struct{ Lines, Records uint64 }
	left    trace.Left // what is left out, of all passes
	late    trace.Late
	crowded uint64 // requests that one second had no room for
	spread  uint64 // requests that were spread over their second
	fine    uint64 // requests that were spread over their millisecond
	again   uint64 // how often the logs started again
	pass    uint64 // requests of one pass; 0: unknown
	nothing error  // why not one request was taken; nil before the end of the logs
}

// openLogs opens the logs and connects the stages that read, filter and order their requests.
func (o *Options) openLogs(ctx context.Context) (*pipeline, error) {
	p := &pipeline{names: o.logs}
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
		p.timed = trace.Timed(p.fits, o.timing())
		p.src = p.timed
	}
	return p, nil
}

func (p *pipeline) open(ctx context.Context, o *Options, g *reader.Settings) (*reader.Log, error) {
	if o.Seed.Tail {
		log, follow, err := g.Follow(o.logs[0])
		p.follow, p.logs = follow, []*reader.Log{log}
		return log, err
	}
	log, err := g.Open(ctx, o.logs, o.stdin())
	if err == nil {
		p.logs = []*reader.Log{log}
	}
	return log, err
}

// again starts another pass. reopen: the requests are not in memory, so open the logs again.
func (p *pipeline) again(ctx context.Context, o *Options, g *reader.Settings, reopen bool) error {
	p.before = p.now()
	p.fits.left = trace.Left{} // before has it
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
		if err == io.EOF && len(p.logs) > 0 {
			p.kept.nothing = p.logs[0].Nothing(p.names, &p.kept.left)
		}
	}
	return err
}

// now computes the current account.
func (p *pipeline) now() account {
	a := p.before
	a.left = p.before.left.Copy()
	for _, l := range p.logs {
		c := l.Counts()
		a.lines.Lines += c.Lines
		a.lines.Records += c.Records
		left := l.Left()
		a.left.Merge(&left)
	}
	a.left.Merge(&p.fits.left)
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
	return figure.Plural(a.lines.Lines, "line") + ", " + figure.Plural(a.lines.Records, "request") + a.left.Sum()
}

// fitting leaves out requests that cannot be sent: bodies that are too large for a connection's
// memory, and methods that takt does not sign for S3.
type fitting struct {
	src      trace.Stream
	most     int64 // largest body, bytes
	s3       bool
	keepHost bool
	drops    func(header string) bool // reports whether a flag replaces the header
	left     trace.Left
}

// Reasons of fitting.
const (
	tooLarge  = "the body is above 64 MiB"
	notSigned = "takt signs only GET, HEAD and PUT for S3"
	hostless  = "the recorded host, which cannot be sent" // with keepHost
)

// Next implements trace.Stream.
func (f *fitting) Next(rec *trace.Record) error {
	for {
		err := f.src.Next(rec)
		if err != nil {
			return err
		}
		why := f.refusal(rec)
		if why == "" {
			f.fit(rec)
			return nil
		}
		f.left.Add(trace.NotSent, why, rec.File, rec.Line)
	}
}

// fit removes the recorded headers that flags replace, and counts a host that cannot be kept.
func (f *fitting) fit(rec *trace.Record) {
	if f.keepHost && !isHost(rec.Host) {
		f.left.Add(trace.Without, hostless, rec.File, rec.Line)
	}
	if len(rec.Header) > 0 {
		rec.DropFields(f.drops)
	}
}

// dropsHeader reports whether a flag replaces a recorded header.
func (o *Options) dropsHeader(name string) bool {
	return o.HTTP.SendsHeader(name) || name == "content-type" && o.HTTP.ContentType != randomType
}

// refusal is why a request cannot be sent; "": it can.
func (f *fitting) refusal(rec *trace.Record) string {
	switch {
	case !isReading(rec.Method) && rec.RequestBytes > f.most:
		return tooLarge
	case f.s3 && !isReading(rec.Method) && string(rec.Method) != "PUT":
		return notSigned
	}
	return ""
}

// isReading reports whether a method has no request body.
func isReading(method []byte) bool { return string(method) == "GET" || string(method) == "HEAD" }
