package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
	"github.com/taktload/takt/internal/value"
)

// Settings say how to read logs and which requests to use: the flags of all commands that
// read logs.
type Settings struct {
	Options   Options
	Window    trace.Window  // the part of the logs to use
	From, For uint64        // requests of it to skip, then to use; For 0: all the others
	Inspect   bool          // look for the faults of each log, see Log.Inspected
	MaxGap    time.Duration // for Inspect: a longer time without requests is a gap; 0: the log decides
	Rules     trace.Rules
	Rewriting trace.Rewriting
}

// AddFlags declares the flags on fs. The present values of g are the defaults, except
// --format, whose default is auto.
func (g *Settings) AddFlags(fs *pflag.FlagSet) {
	g.Options.Format = autoFormat
	value.Declare(fs, value.GroupLog, func(fs *pflag.FlagSet) {
		fs.Var(value.Text(&g.Options.Format), "format", "`FORMAT` of the log, if auto does not find it: a name that takt trace --help lists, a log_format of nginx, a LogFormat of Apache, a log-format of HAProxy, a format of Envoy, or takt's own with {FIELD} (docs/log-formats.md)")
	}, "format")
	value.Declare(fs, value.GroupLog, g.addZoneFlags)
	value.Declare(fs, value.GroupSelection, g.addSelectFlags)
	value.Declare(fs, value.GroupRewriting, g.addRewriteFlags)
}

func (g *Settings) addSelectFlags(fs *pflag.FlagSet) {
	fs.Var(value.Plain(&g.Window), "window", "use the part `FROM..TO` of the log: 10:00..12:30, 5m..1h after the first request, or 2026-11-27T10:00..; either side may be missing")
	fs.Uint64Var(&g.From, "from", g.From, "skip the first `N` requests")
	fs.Uint64Var(&g.For, "for", g.For, "use `N` requests; 0: all")
	fs.Var(value.Plain((*methodsValue)(&g.Rules.Methods)), "methods", "`LIST` of the methods to use, such as GET,HEAD,POST; *: all")
	fs.Var(value.Plain(&patternValue{&g.Rules.Path}), "path", "use only URIs that match `REGEXP`")
	fs.Var(value.Plain(&patternValue{&g.Rules.NotPath}), "not-path", "leave out URIs that match `REGEXP`")
	fs.Var(value.Plain(&g.Rules.Statuses), "status", "use only requests with the recorded `STATUS` 200, 200-299 or 2xx; a comma separates several")
	fs.Var(value.Sample(&g.Rules.Share), "sample", "use `PERCENT` of the clients with all their requests, the same clients each time")
}

func (g *Settings) addRewriteFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&g.Rewriting.Strip), "strip", "remove the first occurrence of `TEXT` from each path")
	fs.Var(value.Repeated((*changesValue)(&g.Rewriting.Changes)), "rewrite", "replace in each URI, as `REGEXP=>TEXT`; $1 is a group; repeatable")
	fs.BoolVar(&g.Rewriting.KeepTokens, "keep-tokens", false, "do not remove query parameters such as access_token")
}

func (g *Settings) addZoneFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&g.Options.Fields), "fields", "`MAP` of the field names of other JSON, such as end=ts,latency=duration:ms,uri=req.path")
	fs.Var(value.Plain(&zoneValue{&g.Options.Zone}), "zone", "`ZONE` of times without a zone: Europe/Berlin, UTC, or an offset such as -0500 (default: the local zone)")
}

// Validate reports every fault of the settings together.
func (g *Settings) Validate() []error {
	err := checkFormat(g.Options)
	switch {
	case err == nil:
		return nil
	case g.Options.Fields != "":
		return []error{value.Bad("fields", g.Options.Fields, err)}
	}
	return []error{value.Bad("format", g.Options.Format, err)}
}

// Log is the stream of the requests that Settings select.
type Log struct {
	trace.Stream
	readers   []*Reader
	watches   []*watch // of the readers; empty without Inspect
	opened    []func() // each closes a file
	fields    string   // the field map; "": none
	windowed  *trace.Windowed
	sectioned *trace.Sectioned
	selection *trace.Selection
	rewritten *trace.Rewritten
}

// Open opens all files and reads their beginnings; - is stdin. The error names every file
// that cannot be read. The end of ctx stops waiting for a named pipe, here and in Next.
func (g *Settings) Open(ctx context.Context, names []string, stdin io.Reader) (*Log, error) {
	l := &Log{fields: g.Options.Fields}
	options := g.Options
	options.Inspect = g.Inspect
	var streams []trace.Stream
	var errs []error
	for _, name := range names {
		r, err := l.open(ctx, name, stdin, options)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.readers = append(l.readers, r)
		if g.Inspect {
			w := newWatch(r, g.MaxGap)
			l.watches = append(l.watches, w)
			streams = append(streams, w)
			continue
		}
		streams = append(streams, r)
	}
	if len(errs) > 0 {
		l.Close()
		return nil, errors.Join(errs...)
	}
	l.choose(g, trace.Merge(streams...))
	return l, nil
}

// choose makes l the stream of the requests of src that g selects, as they are to be sent.
func (l *Log) choose(g *Settings, src trace.Stream) {
	l.windowed = trace.Within(src, g.Window)
	l.sectioned = trace.Section(l.windowed, g.From, g.For)
	l.selection = trace.Select(l.sectioned, g.Rules)
	l.rewritten = trace.Rewrite(l.selection, g.Rewriting)
	l.Stream = l.rewritten
}

func (l *Log) open(ctx context.Context, name string, stdin io.Reader, o Options) (*Reader, error) {
	if name == "-" {
		return New("standard input", stdin, o)
	}
	f, err := openFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%w; check the name of the log", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(longAgo()) })
	l.opened = append(l.opened, func() {
		stop()
		_ = f.Close() // it was only read
	})
	return New(name, f, o)
}

// openFile opens a file. To open a named pipe it waits for a writer, until ctx ends.
func openFile(ctx context.Context, name string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := files.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// longAgo is a deadline that ends a read of a pipe. Files have no deadlines, and need none.
func longAgo() time.Time { return time.Unix(1, 0) }

// Close closes the files.
func (l *Log) Close() {
	for _, r := range l.readers {
		r.Close()
	}
	for _, closeFile := range l.opened {
		closeFile()
	}
}

// Counts says what became of the lines of all files together.
func (l *Log) Counts() (c Counts) {
	for _, r := range l.readers {
		c.Add(r.Counts())
	}
	return c
}

// Formats names the formats in use, each once.
func (l *Log) Formats() string {
	var names []string
	for _, r := range l.readers {
		name := r.Format()
		if strings.ContainsAny(name, "$%{") {
			name = "the given format"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Left is the table of what is left out so far, of all files and by all flags.
func (l *Log) Left() trace.Left {
	left := l.Counts().Left
	for _, o := range []*trace.Left{l.windowed.Left(), l.sectioned.Left(), l.selection.Left(), l.rewritten.Left()} {
		left.Merge(o)
	}
	return left
}

// WriteText writes, for people, one line about what was read, and then the table of what is left out.
func (l *Log) WriteText(w io.Writer) error {
	c, left := l.Counts(), l.Left()
	b := fmt.Appendf(nil, "%s of %s: %s%s\n", figure.Plural(c.Lines, "line"), l.Formats(), figure.Plural(c.Records, "request"), left.Sum())
	_, err := w.Write(left.AppendText(b))
	return err
}

// reasonsShown is how many reasons Nothing names.
const reasonsShown = 3

// Nothing says why not one request was taken of the named logs, and what to do. left is Left, with what the caller
// left out of the requests.
func (l *Log) Nothing(names []string, left *trace.Left) error {
	of := strings.Join(names, ", ")
	if outside := l.windowed.Outside(); outside != "" {
		return fmt.Errorf("%s; give a window in it", outside)
	}
	c := l.Counts()
	if c.Lines == 0 {
		return fmt.Errorf("%s has no lines; give another log; takt replay --tail waits for what will be written", of)
	}
	if l.fields != "" && left.Count(trace.NoRequest) == c.Lines {
		var places []string
		for _, place := range parse.RequestPlaces(l.fields) {
			places = append(places, fmt.Sprintf("%q", place))
		}
		return fmt.Errorf("no line has a request in %s; check the names of --fields", strings.Join(places, " or "))
	}
	if unfit := l.unfit(); unfit != "" {
		return fmt.Errorf("no request was read: %s; check --format, or leave it out", unfit)
	}
	text := fmt.Sprintf("no request of %s was taken, of %s of %s", of, figure.Plural(c.Lines, "line"), l.Formats())
	for i, r := range left.Most(reasonsShown) {
		sign := ";"
		if i == 0 {
			sign = ":"
		}
		text += fmt.Sprintf("%s %d %s: %s (%s)", sign, r.Count, r.Kind, r.Why, r.Place())
	}
	switch {
	case left.Count(trace.NotChosen) > 0:
		text += "; check the flags that choose requests"
	case left.Count(trace.Bad) > 0:
		text += "; check --format"
	}
	return errors.New(text)
}
