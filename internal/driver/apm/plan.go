package apm

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// mostBodies and bodiesBytes limit the bodies made for one shape. Servers see this many
	// different bodies before they repeat.
	mostBodies  = 16
	bodiesBytes = 64 << 20
	// leastBodies is the smallest number of bodies, even for the largest shapes.
	leastBodies = 2
)

// plan is everything that a run sends, made before the run.
type plan struct {
	v1      bool
	warmup  time.Duration
	servers []*server
	order   []int // order of targets, by index
	classes [600]string
	largest int // size in bytes of the largest event
	bodies  int // number of bodies of all shapes
}

// server is one of the servers that are loaded in turn.
type server struct {
	url     *url.URL
	targets []*target
	service serviceTime
}

// target is the destination of one kind of request.
type target struct {
	method, path string
	url          *url.URL
	part         part
	refuses      bool // the expected answer is 4xx
	requests     []request
	tally        tally
}

// request is one request with its bytes.
type request struct {
	bytes   *http1.Rendered // nil: the request is streamed
	stream  stream
	content content
}

// wants reports whether status is the expected answer.
func (t *target) wants(status int) bool {
	switch {
	case t.refuses:
		return status >= 400 && status < 500
	case t.part.kind == kindHealth:
		return status == 200
	}
	return status == 202
}

// choose is the request of op to a server. It depends only on the operation's number, not on
// the sender.
func (p *plan) choose(at int, op *takt.Op) (*target, *request) {
	targets := p.servers[at].targets
	n := op.Seq / uint64(len(p.servers))
	t := targets[p.order[n%uint64(len(p.order))]]
	// Multiplication spreads the numbers: with n itself some parts would always get the same
	// bodies.
	return t, &t.requests[(n*0x9e3779b97f4a7c15>>32)%uint64(len(t.requests))]
}

// newPlan makes the bodies, once for all servers, and the requests.
func (o *Options) newPlan() (*plan, error) {
	p := &plan{v1: o.v1(), warmup: o.warmup, order: o.mix.order()}
	for status := range p.classes {
		p.classes[status] = strconv.Itoa(status)
	}
	made := o.makeAll(p)
	for _, u := range o.urls {
		s := &server{url: u}
		for i, part := range o.mix.parts {
			t, err := o.newTarget(u, part, made[i])
			if err != nil {
				return nil, err
			}
			s.targets = append(s.targets, t)
		}
		p.servers = append(p.servers, s)
	}
	return p, nil
}

// makeAll makes the bodies of each part.
func (o *Options) makeAll(p *plan) (all [][]packed) {
	now := time.Now()
	for i, part := range o.mix.parts {
		bodies := o.makeBodies(part, uint64(i), now)
		all = append(all, bodies)
		for _, b := range bodies {
			if len(b.text) > 0 {
				p.bodies++
			}
			p.largest = max(p.largest, b.largest)
		}
	}
	return all
}

// packed is a body and its compressed form.
type packed struct {
	body
	wire []byte
}

// makeBodies makes the bodies of one part.
func (o *Options) makeBodies(part part, stream uint64, now time.Time) (all []packed) {
	if part.kind == kindHealth || part.kind == kindWrongMethod {
		return []packed{{}}
	}
	m := newMaker(o.seed+stream<<32, o.formOf(part.kind), now)
	p := packer{}
	for size := 0; len(all) < leastBodies || len(all) < mostBodies && size < bodiesBytes; {
		b := body{text: []byte(part.raw)}
		if part.raw == "" {
			b = m.body(part.shape)
		}
		one := packed{body: b, wire: b.text}
		if !o.DisableCompression {
			one.wire = p.pack(b.text)
		}
		all = append(all, one)
		size += len(b.text)
	}
	return all
}

func (o *Options) formOf(k kind) form {
	return form{v1: o.v1(), rum: k == kindRUMErrors || k == kindRUMTransactions}
}

// newTarget makes the requests of one part for the server at base.
func (o *Options) newTarget(base *url.URL, part part, bodies []packed) (*target, error) {
	t := &target{method: cmp.Or(o.method, "POST"), path: o.pathOf(part.kind), part: part, refuses: part.raw != "" || part.kind == kindWrongMethod}
	if part.kind == kindHealth || part.kind == kindWrongMethod {
		t.method = "GET"
	}
	var err error
	if t.url, err = httpreq.ParseURL(base.String() + t.path); err != nil {
		return nil, err
	}
	for _, b := range bodies {
		r, err := o.newRequest(t, b)
		if err != nil {
			return nil, fmt.Errorf("cannot make the requests: %w", err)
		}
		t.requests = append(t.requests, r)
	}
	return t, nil
}

func (o *Options) newRequest(t *target, b packed) (r request, err error) {
	header := o.header(t.part.kind, len(b.wire) > 0)
	r.content = content{len(b.text), len(b.wire), b.events}
	if !o.Stream {
		r.bytes, err = o.conn.Render(t.method, t.url, header, b.wire)
		return r, err
	}
	head, err := o.conn.Render(t.method, t.url, header, nil)
	if err == nil {
		r.stream = newStream(head.Bytes, b, !o.DisableCompression)
	}
	return r, err
}

// header is the headers of a request.
func (o *Options) header(k kind, hasBody bool) (list []http1.Field) {
	if auth := o.auth.header(); auth != "" {
		list = append(list, http1.Field{Name: "Authorization", Value: auth})
	}
	if f := o.formOf(k); f.rum {
		list = append(list, http1.Field{Name: "Origin", Value: "http://localhost"}) // without it RUM endpoints answer 403
	}
	if !hasBody {
		return list
	}
	kind := "application/x-ndjson"
	if o.v1() {
		kind = "application/json"
	}
	if !o.conn.Header.Has("Content-Type") {
		list = append(list, http1.Field{Name: "Content-Type", Value: kind})
	}
	if !o.DisableCompression {
		list = append(list, http1.Field{Name: "Content-Encoding", Value: "gzip"})
	}
	return list
}

// pathOf is the path for requests of a kind.
func (o *Options) pathOf(k kind) string {
	rum := k == kindRUMErrors || k == kindRUMTransactions
	switch {
	case k == kindHealth && o.v1():
		return "/healthcheck"
	case k == kindHealth:
		return "/"
	case o.Endpoint != "" && !rum:
		return o.Endpoint
	case o.v1():
		return [...]string{
			kindTransactions: "/v1/transactions", kindErrors: "/v1/errors", kindMetrics: "/v1/metrics",
			kindRUMTransactions: "/v1/client-side/transactions", kindRUMErrors: "/v1/client-side/errors",
			kindWrongMethod: "/v1/transactions",
		}[k]
	case rum:
		return "/intake/v2/rum/events?verbose"
	}
	return "/intake/v2/events?verbose"
}
