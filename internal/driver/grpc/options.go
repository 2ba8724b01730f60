// Package grpc is the driver of takt grpc: one operation is one call, of any kind of method, over takt's own HTTP/2.
package grpc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// defaultMessageMax is the largest size of a message of an answer: that of most clients.
const defaultMessageMax = 4 << 20

// mostLength is the largest size that the prefix of a message can say.
const mostLength = 1<<32 - 1

// Options are the flags of takt grpc beyond those of every load command.
type Options struct {
	Proto      []string // files that describe the method
	ImportPath []string // folders of --proto
	Protoset   string   // file with a descriptor set
	Raw        bool     // the body is the message itself
	Streams    string   // who sends streams, for Raw; "": nobody
	Messages   int      // of a call; 0: all of the input
	Gzip       bool
	Deadline   time.Duration // 0: none
	MessageMax int64         // bytes
	WaitReady  time.Duration // 0: do not ask

	conn          http.Options // of connections, headers and the body
	url           *url.URL
	service, name string
	method        *method // nil: the server has to say it
	learned       bool    // the server was asked for the next run
	message       *http1.Request
	env           *payload.Env
	texts         []text
	sum           string // SHA-256 of the body as given, in hex; "": none is given
	headers       []header
	warmup        time.Duration
	alone         bool // a connection has one call at a time, of a worker
}

// New are the options with their defaults.
func New(stdin io.Reader) *Options {
	o := &Options{MessageMax: defaultMessageMax, conn: *http.New()}
	o.conn.HTTP2, o.conn.Method, o.conn.ContentType, o.conn.DisableCompression, o.conn.Stdin = true, "POST", "application/grpc", true, stdin
	return o
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupTarget, o.addRequestFlags, "body", "header", "proto", "deadline")
	value.Declare(fs, value.GroupConnections, o.addWayFlags, "timeout")
}

func (o *Options) addRequestFlags(fs *pflag.FlagSet) {
	c := &o.conn
	fs.VarP(value.Naming(value.Text(&c.Body), bodyNames), "body", "d", "messages as `JSON`; placeholders as {{.Seq}} and {{file \"ids.txt\"}}; @FILE reads FILE, @ stdin")
	fs.VarP(value.InFile(&c.BodyFile), "body-file", "D", "messages from `FILE`, such as lines of JSON, - for stdin")
	fs.BoolVar(&c.BodyTemplate, "body-template", false, "fill in placeholders in the messages of a file too")
	fs.BoolVar(&o.Raw, "raw", false, "the body is the bytes of one message, and not JSON")
	fs.IntVar(&o.Messages, "messages", 0, "`N` messages in each call of a method to which clients stream, in turn (default: all)")
	fs.Var(value.InFiles(&o.Proto), "proto", ".proto `FILE` of the method; repeatable (default: ask the server's reflection)")
	fs.Var(value.InFiles(&o.ImportPath), "import-path", "`FOLDER` in which --proto and its imports are looked for; repeatable")
	fs.Var(value.InFile(&o.Protoset), "protoset", "the method is described in this `FILE`, which protoc --descriptor_set_out wrote")
	fs.Var(value.Choice(&o.Streams, streamsNone, streamsServer, streamsClient, streamsBoth), "streams", "with --raw, who sends streams: `none|server|client|both` (default none)")
	fs.VarP(&c.Header, "header", "H", "`NAME: VALUE` of metadata; repeatable; placeholders as in the body")
	fs.Var(value.Secret(&c.Credentials.Bearer), "bearer", "bearer authentication with `TOKEN`; better from TAKT_BEARER or --bearer-file")
	fs.Var(value.InFile(&c.Credentials.BearerFile), "bearer-file", "bearer authentication with the token in `FILE`")
	fs.Var(value.Text(&c.Host), "authority", ":authority `HOST` instead of the target's")
	fs.Var(value.Duration(&o.Deadline), "deadline", "grpc-timeout, `TIME` for a call; after it a call failed with deadline_exceeded")
	fs.BoolVar(&o.Gzip, "gzip", false, "compress messages with gzip, and accept answers that are")
}

// bodyNames are the files of -d.
func bodyNames(text string) []value.Name {
	if file, ok := strings.CutPrefix(text, "@"); ok && file != "" {
		return []value.Name{{Kind: value.Reads, Text: file}}
	}
	return payload.Names(text)
}

func (o *Options) addWayFlags(fs *pflag.FlagSet) {
	o.conn.AddWayFlagsH2(fs)
	fs.Var(value.Size(&o.MessageMax), "message-max", "largest `SIZE` of a message of an answer, also decompressed")
	fs.Var(value.Duration(&o.WaitReady), "wait-ready", "before the run, wait up to `TIME` until the server's health service says SERVING")
}

// Shape fills in what the user left open, as takt http does.
func (o *Options) Shape(e *engine.Options) {
	o.conn.Shape(e)
	o.warmup, o.alone = e.Warmup, !e.CanLoop()
}

// StdinReaders names the flags that read standard input: before the runs, and in each.
func (o *Options) StdinReaders() (before, during []string) {
	switch {
	case o.conn.Body == "@":
		before = append(before, "-d")
	case o.conn.BodyFile == value.Stdio:
		before = append(before, "-D")
	}
	return before, nil
}

// Validate reports every fault at once, and makes what needs no server.
func (o *Options) Validate(args []string) []error {
	var faults value.Faults
	o.method = nil
	faults.If(o.Messages < 0, "--messages is %d; give a number above 0", o.Messages)
	faults.If(o.Deadline < 0, "--deadline is below 0; give a time above 0, or leave it out")
	faults.If(o.MessageMax < 1 || o.MessageMax > mostLength, "--message-max must be from 1 byte to 4 GiB - 1")
	o.readAt()
	faults.Add(o.readTarget(args), o.readMessages())
	if faults = append(faults, o.conn.Prepare(o.url)...); len(faults) > 0 {
		return faults
	}
	o.message = o.conn.Message("POST", o.url, o.ownHeaders(), []byte{0})
	faults.Add(o.readHeaders())
	why := o.conn.Lacks(o.alone)
	faults.If(why != "", "takt grpc has no %s; drop that", why)
	faults.If(o.alone && (o.conn.HTTP2Connections > 1 || o.conn.HTTP2Streams > 0), "--h2-connections and --h2-streams spread calls over connections, but in workers (--engine worker, or not on Linux) each call has its own; drop them, -c is the number of connections")
	known, err := o.describe()
	if faults.Add(err); len(faults) == 0 && known {
		_, err = o.newRun()
		faults.Add(err)
	}
	return faults
}

// readAt takes -d @FILE for -D FILE.
func (o *Options) readAt() {
	file, ok := strings.CutPrefix(o.conn.Body, "@")
	if !ok || o.conn.BodyFile != "" {
		return
	}
	if o.conn.Body = ""; file == "" {
		file = value.Stdio
	}
	o.conn.BodyFile = file
}

// readTarget takes the server and the method.
func (o *Options) readTarget(args []string) (err error) {
	if len(args) != 1 {
		return errors.New("give one target; it names the server and the method, such as 127.0.0.1:50051/helloworld.Greeter/SayHello")
	}
	if o.url, err = httpreq.ParseURL(args[0]); err != nil {
		return err
	}
	if o.url.RawQuery != "" || o.url.Fragment != "" {
		return value.Faultf("the target has a query or a fragment; write HOST:PORT/package.Service/Method, and metadata with -H")
	}
	if o.service, o.name, err = parseMethod(o.url.Path); err != nil {
		return err
	}
	o.url.Path, o.url.RawPath = "/"+o.service+"/"+o.name, ""
	return nil
}

// ownHeaders are those of the protocol, which -H does not replace.
func (o *Options) ownHeaders() []http1.Field {
	list := []http1.Field{{Name: "te", Value: "trailers"}}
	if o.Deadline > 0 {
		list = append(list, http1.Field{Name: "grpc-timeout", Value: timeoutText(o.Deadline)})
	}
	if o.Gzip {
		list = append(list, http1.Field{Name: "grpc-encoding", Value: "gzip"}, http1.Field{Name: "grpc-accept-encoding", Value: "gzip"})
	}
	return list
}

// timeoutText is a grpc-timeout: at most 8 digits and a unit.
func timeoutText(d time.Duration) string {
	for _, u := range []struct {
		name string
		of   time.Duration
	}{{"m", time.Millisecond}, {"u", time.Microsecond}, {"n", 1}} {
		if d%u.of == 0 && d/u.of < 1e8 {
			return strconv.FormatInt(int64(d/u.of), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(min((d+time.Second-1)/time.Second, 1e8-1)), 10) + "S"
}

// readHeaders parses the placeholders of metadata.
func (o *Options) readHeaders() error {
	o.headers = nil
	for _, f := range o.message.Header {
		t := payload.Literal(f.Value)
		if strings.HasSuffix(f.Name, "-bin") && !strings.Contains(f.Value, "{{") && !isBase64(f.Value) {
			return value.About(fmt.Errorf("header %s: its value is not base64, which the value of a -bin header has to be; encode it", f.Name), "header")
		}
		if o.conn.Header.Has(f.Name) && strings.Contains(f.Value, "{{") {
			var err error
			if t, err = o.env.Parse("header "+f.Name, f.Value); err != nil {
				return value.About(fmt.Errorf("header %s: cannot fill in its placeholders", f.Name), "header") // the value may be a secret
			}
			err = t.Check(func(line []byte) error {
				return http1.CheckField(http1.Field{Name: f.Name, Value: string(line)})
			})
			if err != nil {
				return value.About(err, "header")
			}
		}
		o.headers = append(o.headers, header{f.Name, t})
	}
	return nil
}

// isBase64 reports whether a text is base64, with padding or without.
func isBase64(s string) bool {
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return err == nil
}

// Identify names the next run.
func (o *Options) Identify(run string) { o.conn.Identify(run) }

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string { return append(o.conn.Secrets(), httpreq.SecretsIn(o.url)...) }

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := map[string]any{
		"service": o.service, "method": o.name, "scheme": o.url.Scheme, "host": o.url.Host, "messages": len(o.texts),
		"headers": o.conn.Header.FieldNames(), "gzip": o.Gzip,
	}
	o.conn.DescribeWay(v)
	if o.Messages > 0 {
		v["messages"] = o.Messages
	}
	if o.Deadline > 0 {
		v["deadline_s"] = o.Deadline.Seconds()
	}
	if o.method != nil {
		v["streams"] = o.method.streams()
	}
	if o.sum != "" {
		v["body_sha256"] = o.sum
	}
	return v
}

// Timed is driver.Load.Timed: the times of messages, if the method streams them, or may do so before Learn.
func (o *Options) Timed() []takt.Timed {
	if o.method != nil && !o.method.server {
		return nil
	}
	return engine.PartTimes("first_part_due", "first_part", "first_part_unknown")
}

// run is what a run sends and counts.
type run struct {
	o            *Options
	method       *method
	warmup       time.Duration
	scheme, host string
	header       []header
	rendered     *http2.Rendered // the fields of all calls; nil: they differ
	fixed        [][]byte        // messages in their frames; nil: placeholders are to be filled in
	whole        [][]byte        // messages of calls, in turn; nil: each call makes its own
	each         int             // messages of a call
	limit        uint64          // messages for which files have lines; 0: no limit
	closes       bool

	mu    sync.Mutex
	conns []*muxBase
}

// each is how many messages a call has.
func (o *Options) each() int {
	switch {
	case o.method == nil || !o.method.client:
		return 1
	case o.Messages > 0:
		return o.Messages
	}
	return len(o.texts)
}

// newRun prepares what a run sends, and checks it.
func (o *Options) newRun() (*run, error) {
	r := &run{
		o: o, method: o.method, warmup: o.warmup, scheme: o.url.Scheme, host: o.message.Host, header: o.headers,
		each: o.each(), limit: o.env.Limit(), closes: o.message.Close || o.message.SaysClose(),
	}
	if !o.method.client && o.Messages > 1 {
		return nil, value.Faultf("--messages is %d, and a call of %s has one message; leave it out, messages come in turn", o.Messages, o.method.path())
	}
	if err := r.prepare(); err != nil {
		return nil, value.About(err, "body", "body-file")
	}
	fixed := true
	for _, h := range o.headers {
		fixed = fixed && h.value.Fixed()
	}
	if fixed {
		r.rendered = http2.RenderBy(func(q *http2.Request) {
			q.Start("POST", r.scheme, r.host)
			q.Add(":path", r.method.path(), true)
			for _, h := range r.header {
				q.AddMade(h.name, true, func(dst []byte) []byte { return h.value.Append(dst, 0) })
			}
		})
	}
	return r, nil
}

func (r *run) add(m *muxBase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, m)
}

// Learn is driver.Load.Learn: it asks the server whether it is ready, and for what the flags do not say.
func (o *Options) Learn(ctx context.Context) error {
	if o.method == nil || o.WaitReady > 0 {
		if err := o.ask(ctx); err != nil {
			return err
		}
	}
	o.learned = true
	return nil
}

// Open makes the driver. Without a Learn before it, it asks the server itself.
func (o *Options) Open(ctx context.Context, _ int) (*takt.Driver, error) {
	if !o.learned {
		if err := o.Learn(ctx); err != nil {
			return nil, err
		}
	}
	o.learned = false
	r, err := o.newRun()
	if err != nil {
		return nil, err
	}
	d, err := o.conn.OpenTo(func() *takt.Loop { return o.loopOf(r) })
	if err == nil {
		d.Timed, d.Finish = o.Timed(), r.finishing(d.Finish)
	}
	return d, err
}

// ask asks the server before the run.
func (o *Options) ask(ctx context.Context) error {
	a := o.newAsker()
	defer a.close()
	if o.WaitReady > 0 {
		if err := o.awaitReady(ctx, a); err != nil {
			return err
		}
	}
	if o.method != nil {
		return nil
	}
	m, err := o.reflect(ctx, a)
	o.method = m
	return err
}

// loopOf describes the connections of a run.
func (o *Options) loopOf(r *run) *takt.Loop {
	l := o.conn.LoopTo(o.url, nil)
	o.conn.MultiplexTo(l, r.newMux)
	if connecting := l.Explain; connecting != nil {
		l.Explain = func(err error) error {
			err = connecting(err)
			if own, ok := err.(interface{ Class() string }); ok && own.Class() == http2.ClassProtocol {
				return errProtocol
			}
			return err
		}
	}
	if o.Deadline > 0 && o.Deadline <= l.Timeout {
		l.Timeout, l.Overdue = o.Deadline, late{o.Deadline}
	}
	return l
}

// Source is driver.Load.Source: a file whose lines are used once ends the run.
func (o *Options) Source(_ context.Context, src takt.Source) (takt.Source, error) {
	limit := o.env.Limit()
	if limit == 0 {
		return src, nil
	}
	return http.Limited(src, limit/uint64(o.each())), nil
}
