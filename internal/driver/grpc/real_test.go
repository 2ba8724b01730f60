package grpc

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// load makes a run of n calls as the command does.
func load(t *testing.T, o *Options, target string, n uint64) *takt.Report {
	t.Helper()
	return drivertest.Make(t, drivertest.Plan(t, "grpc", o, func(e *engine.Options) { e.Requests, e.Rate = n, engine.MustRate("500/s") }, target))
}

// fails are the texts of the faults of options, or of Open.
func fails(t *testing.T, o *Options, args ...string) string {
	t.Helper()
	e := engine.Defaults()
	e.Requests, e.Connections = 1, 1
	o.Shape(&e)
	if faults := o.Validate(args); len(faults) > 0 {
		return fmt.Sprint(faults)
	}
	_, err := o.Open(t.Context(), 1)
	return fmt.Sprint(err)
}

func with(body string) *Options {
	o := New(nil)
	o.conn.Body, o.conn.TLS.Insecure = body, true
	return o
}

// Each kind of method, described in each way, with and without TLS and gzip: what the server got is what was sent, and
// each message is counted.
func TestMethods(t *testing.T) {
	set := protoset(t)
	ways := map[string]func(o *Options){
		"reflection": func(*Options) {},
		"proto":      func(o *Options) { o.Proto, o.ImportPath = []string{"echo.proto"}, []string{"testdata"} },
		"protoset":   func(o *Options) { o.Protoset = set },
		"gzip":       func(o *Options) { o.Gzip = true },
	}
	for _, c := range []struct {
		name           string
		tls            bool
		way            string
		v1, v1alpha    bool
		sent, received float64
	}{
		{"Unary", false, "reflection", true, false, 0, 0},
		{"Unary", true, "reflection", false, true, 0, 0},
		{"Unary", false, "gzip", true, true, 0, 0},
		{"Server", false, "proto", false, false, 1, 3},
		{"Server", false, "gzip", true, false, 1, 3},
		{"Client", false, "protoset", false, false, 2, 1},
		{"Both", true, "reflection", true, false, 2, 2},
	} {
		called := func(t *testing.T, mode string) {
			const n = 20
			e := serveEcho(t, behaviour{v1: c.v1, v1alpha: c.v1alpha, tls: c.tls})
			o := with(`{"name":"a","count":3,"at":"2026-11-30T00:00:00Z"} {"name":"b{{.Seq}}","count":3}`)
			o.conn.Header.Set("X-Tenant: t{{.Seq}}")
			ways[c.way](o)
			target := e.target(c.name)
			if c.tls {
				target = "https://" + target
			}
			r := drivertest.Make(t, drivertest.Plan(t, "grpc", o, func(e *engine.Options) { e.Requests, e.Rate, e.Engine = n, engine.MustRate("500/s"), mode }, target))
			if r.Counts.OK != n || r.Generator.Engine != mode {
				t.Fatalf("%+v, %+v, %s", r.Counts, r.Errors, r.Generator.Engine)
			}
			each := max(1, int(c.sent))
			if len(e.names) != each*n {
				t.Fatalf("the server got %d messages; want %d", len(e.names), each*n)
			}
			for i := range each * n {
				if want := "a"; i%2 == 1 && !slices.Contains(e.names, fmt.Sprint("b", i)) || i%2 == 0 && !slices.Contains(e.names, want) {
					t.Errorf("no message of number %d in %q", i, e.names)
				}
			}
			if got := e.heads[0].Get("x-tenant"); len(got) != 1 || got[0][0] != 't' {
				t.Errorf("metadata %v", e.heads[0])
			}
			if x, has := tokens.MessagesOf(r); has != (c.sent > 0) || has && (x.Sent != uint64(c.sent*n) || x.Received != uint64(c.received*n)) {
				t.Errorf("figures %v", x)
			}
			first, gaps := r.Latency["first_part_due"].Count, r.Latency["gap"].Count+r.Latency["gap_unknown"].Count
			if streams := c.received > 1; streams != (first == n) || streams && gaps != uint64((c.received-1)*n) {
				t.Errorf("%d first messages, %d gaps", first, gaps)
			}
		}
		for _, mode := range []string{"loop", "worker"} {
			t.Run(fmt.Sprint(c.name, " by ", c.way, " tls ", c.tls, " ", mode), func(t *testing.T) { called(t, mode) })
		}
	}
}

// protoset writes a descriptor set of testdata/echo.proto.
func protoset(t *testing.T) string {
	all, err := readProto([]string{"testdata/echo.proto"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	all.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		return true
	})
	slices.SortFunc(set.File, func(a, b *descriptorpb.FileDescriptorProto) int { // imports first, as protoc writes them
		return len(a.GetDependency()) - len(b.GetDependency())
	})
	b, err := proto.Marshal(set)
	name := filepath.Join(t.TempDir(), "echo.set")
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Statuses are classes by their names, and samples have the message and the details.
func TestStatuses(t *testing.T) {
	e := serveEcho(t, behaviour{v1: true})
	for code, want := range codes {
		if code == 0 {
			continue
		}
		r := load(t, with(fmt.Sprintf(`{"code":%d}`, code)), e.target("Unary"), 1)
		sample := want + `: höher: 100 % next; details: google.rpc.ErrorInfo "FULL" "example.com"`
		if len(r.Errors) != 1 || r.Errors[0].Class != want || r.Errors[0].Sample != sample || r.Status[fmt.Sprint(code)] != 1 {
			t.Errorf("code %d: %+v, status %v", code, r.Errors, r.Status)
		}
	}
	r := load(t, with(`{"code":42}`), e.target("Unary"), 1)
	if len(r.Errors) != 1 || r.Errors[0].Class != "unknown" || !strings.HasPrefix(r.Errors[0].Sample, "code 42, which gRPC does not define") {
		t.Errorf("%+v", r.Errors)
	}
}

// A deadline goes to the server, and a call without a status by then has the class of the server's own word.
func TestDeadline(t *testing.T) {
	e := serveEcho(t, behaviour{v1: true})
	for _, mode := range []string{"loop", "worker"} {
		o := with(`{"wait_ms":60000}`)
		o.Deadline = 150 * time.Millisecond
		e.mu.Lock()
		e.ttl = nil
		e.mu.Unlock()
		p := drivertest.Plan(t, "grpc", o, func(e *engine.Options) { e.Requests, e.Connections = 2, 2 }, e.target("Unary"))
		p.Options.Engine = mode
		r := drivertest.Make(t, p)
		e.mu.Lock()
		if len(r.Errors) != 1 || r.Errors[0].Class != "deadline_exceeded" || r.Errors[0].Count != 2 || len(e.ttl) != 2 || e.ttl[0] > o.Deadline {
			t.Errorf("%s: %+v; the server had %v", mode, r.Errors, e.ttl)
		}
		e.mu.Unlock()
	}
}

func TestMessageMax(t *testing.T) {
	e := serveEcho(t, behaviour{v1: true})
	for _, zip := range []bool{false, true} {
		for size, class := range map[int]string{900: "", 1100: "too_large"} {
			o := with(fmt.Sprintf(`{"size":%d}`, size))
			o.MessageMax, o.Gzip = 1000, zip
			r := load(t, o, e.target("Unary"), 2)
			if class == "" && r.Counts.OK != 2 || class != "" && (len(r.Errors) != 1 || r.Errors[0].Class != class || r.Errors[0].Count != 2) {
				t.Errorf("%d bytes, gzip %v: %+v, %+v", size, zip, r.Counts, r.Errors)
			}
		}
	}
}

func TestWaitReady(t *testing.T) {
	e := serveEcho(t, behaviour{v1: true, health: true})
	e.health.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	o := with("")
	o.WaitReady = 50 * time.Millisecond
	if got := fails(t, o, e.target("Unary")); !strings.Contains(got, "its health service says NOT_SERVING") {
		t.Error(got)
	}
	o.WaitReady = time.Minute
	go func() {
		time.Sleep(200 * time.Millisecond)
		e.health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	}()
	if r := load(t, o, e.target("Unary"), 1); r.Counts.OK != 1 {
		t.Errorf("%+v", r.Errors)
	}
	e = serveEcho(t, behaviour{})
	if got := fails(t, o, e.target("Unary")); !strings.Contains(got, "no health service") {
		t.Error(got)
	}
}

// What is wrong is said before the run, and what to do.
func TestFaults(t *testing.T) {
	e := serveEcho(t, behaviour{v1: true})
	old := httptest.NewServer(nil) // HTTP/1.1
	defer old.Close()
	for _, c := range []struct {
		args   string
		change func(o *Options)
		want   string
	}{
		{"", nil, "give one target"},
		{e.addr, nil, "no method; write HOST:PORT/package.Service/Method"},
		{e.addr + "/test.v1.Echo/Unary?a", nil, "query"},
		{e.target("Other"), nil, `has no method "Other"; its methods are Unary, Server, Client, Both`},
		{e.addr + "/a.B/C", nil, `there is no service "a.B"; services are `},
		{e.target("Unary"), func(o *Options) { o.conn.Body = `{"nam":"a"}` }, `the message "{\"nam\":\"a\"}" is no test.v1.Ask: (line 1:2): unknown field "nam"; write JSON with its fields: name, count, code, waitMs, size, at`},
		{e.target("Unary"), func(o *Options) { o.conn.Body = `{"count":"x{{.Seq}}"}` }, "call 0: the message"},
		{e.target("Unary"), func(o *Options) { o.Messages = 3 }, "a call of /test.v1.Echo/Unary has one message"},
		{e.target("Unary"), func(o *Options) { o.Proto = []string{"testdata/none.proto"} }, "cannot compile the files of --proto"},
		{e.target("Unary"), func(o *Options) { o.Protoset = "testdata/echo.proto" }, "no descriptor set"},
		{e.target("Unary"), func(o *Options) { o.ImportPath = []string{"a"} }, "--import-path is given without --proto"},
		{e.target("Unary"), func(o *Options) { o.Streams = "server" }, "--streams is given without --raw"},
		{e.target("Unary"), func(o *Options) { o.conn.Body = "@testdata/none" }, "cannot read the body"},
		{serveEcho(t, behaviour{}).target("Unary"), nil, "the server has no reflection"},
		{e.addr + "/test.v1.Echo", nil, `there is no service "test.v1", but there is "test.v1.Echo"; write HOST:PORT/test.v1.Echo/METHOD`},
		{"https://" + e.target("Unary"), nil, "cannot reach the target: tls: first record"},
		{serveEcho(t, behaviour{v1: true, tls: true}).target("Unary"), nil, "cannot reach the target: the server does not speak HTTP/2 here"},
		{old.Listener.Addr().String() + "/a.B/C", nil, "cannot reach the target: the server does not speak HTTP/2 here"},
		{"127.0.0.1:1/a.B/C", nil, "cannot reach the target: dial tcp 127.0.0.1:1: connect: connection refused"},
		{e.target("Unary"), func(o *Options) { o.conn.Header.Set("A-bin: a%") }, "header A-bin: its value is not base64"},
	} {
		o := with("")
		if c.change != nil {
			c.change(o)
		}
		if got := fails(t, o, strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q; want %q", c.args, got, c.want)
		}
	}
}

// Raw bytes need no description.
func TestRaw(t *testing.T) {
	e := serveEcho(t, behaviour{})
	o := with("\x0a\x03abc")
	o.Raw = true
	if r := load(t, o, e.target("Unary"), 3); r.Counts.OK != 3 || e.names[0] != "abc" {
		t.Errorf("%+v, %q", r.Errors, e.names)
	}
	o = with("\x10\x04") // count: 4
	o.Raw, o.Streams = true, "server"
	r := load(t, o, e.target("Server"), 3)
	if m, _ := tokens.MessagesOf(r); r.Counts.OK != 3 || m.Received != 12 {
		t.Errorf("%+v, %v", r.Errors, r.Extra)
	}
	o.Streams = "none"
	if r := load(t, o, e.target("Server"), 3); len(r.Errors) != 1 || r.Errors[0].Class != classAmount {
		t.Errorf("%+v", r.Errors)
	}
}

// The suite of all drivers, against grpc-go.
func TestSuite(t *testing.T) {
	for _, mode := range []string{"loop", "worker"} {
		t.Run(mode, func(t *testing.T) {
			drivertest.Run(t, mode, func(t *testing.T, b drivertest.Target) *takt.Driver {
				e := serveEcho(t, behaviour{})
				o := with(map[drivertest.Target]string{drivertest.Failing: `{"code":14}`, drivertest.Hanging: `{"wait_ms":3600000}`}[b])
				o.Proto = []string{"testdata/echo.proto"}
				target := e.target("Unary")
				if b == drivertest.Down {
					target = "127.0.0.1:1/test.v1.Echo/Unary"
				}
				p := drivertest.Plan(t, "grpc", o, nil, target)
				return p.Driver
			})
		})
	}
}
