//go:build real

package grpc

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file load servers of other makers, and grpc-go behind proxies of other makers, which
// scripts/servers fetches. They compare takt's counts with those of the servers.

// minus is what was counted since b.
func (a tally) minus(b tally) tally {
	return tally{a.calls - b.calls, a.messages - b.messages, a.answers - b.answers, a.deadlines - b.deadlines, a.tenants - b.tenants}
}

// peer is a server under test.
type peer struct {
	scheme      string // "": no TLS
	mode        string // of the engine; "": the loop
	addr, aging string // aging: connections end there after a while; "": as at addr
	tally       func(t *testing.T) tally
	large       string // class of a message that is too long for the server
	zips        bool   // all answers are compressed: grpcio does not ask what the client reads
}

// tools is the folder of scripts/servers start grpc.
func tools(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("TAKT_GRPC")
	if dir == "" {
		t.Fatal("TAKT_GRPC is not set; run scripts/test-real grpc")
	}
	return filepath.Join(dir, name)
}

// program is a server of scripts/servers.d: GrpcServer.java, grpc_server.py or grpc-rust. It ends with its standard input.
type program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	first string
	aging string
}

// start starts a server at that port; 0: any.
func start(t *testing.T, port string, command ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(command[0], append(command[1:], protoset(t), port, "300")...)}
	p.cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(os.Getenv("TAKT_GRPC"), "grpcio"))
	said := new(strings.Builder)
	p.cmd.Stderr = said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	p.in, p.out = in, bufio.NewReader(out)
	var first, second string
	if _, err := fmt.Fscanln(p.out, &first, &second); err != nil {
		p.kill()
		t.Fatalf("%v: %v\n%s", command, err, said)
	}
	p.first, p.aging = "127.0.0.1:"+first, "127.0.0.1:"+second
	return p
}

// kill ends the server at once.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *program) tally(t *testing.T) (c tally) {
	t.Helper()
	_, err := fmt.Fprintln(p.in)
	if err == nil {
		_, err = fmt.Fscanln(p.out, &c.calls, &c.messages, &c.answers, &c.deadlines, &c.tenants)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRealGRPCIO(t *testing.T) {
	programs(t, peer{large: "resource_exhausted", zips: true}, "python3", "../../../scripts/servers.d/grpc_server.py")
}

func TestRealGRPCJava(t *testing.T) {
	programs(t, peer{large: "resource_exhausted"}, "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", tools(t, "java")+":"+tools(t, "jars")+"/*", "GrpcServer")
}

func TestRealTonic(t *testing.T) {
	server := os.Getenv("TAKT_TONIC")
	if server == "" {
		t.Fatal("TAKT_TONIC is not set; run scripts/test-real --wide tonic")
	}
	programs(t, peer{large: "out_of_range"}, server)
}

// programs tests a server that is a program of its own.
func programs(t *testing.T, o peer, command ...string) {
	p := start(t, "0", command...)
	o.addr, o.aging, o.tally = p.first, p.aging, p.tally
	o.suite(t)
	t.Run("killed", func(t *testing.T) { p.killed(t, o.target("Unary"), command) })
}

// grpc-go behind proxies, which end connections after 100 requests, and then without proxies.
func TestRealProxies(t *testing.T) {
	for name, large := range map[string]string{"nginx": "resource_exhausted", "envoy": "resource_exhausted", "": "resource_exhausted"} {
		t.Run("grpc-go "+name, func(t *testing.T) {
			e := serveEcho(t, behaviour{v1: true, health: true, age: 300 * time.Millisecond})
			e.health.SetServingStatus("test.v1.Echo", healthpb.HealthCheckResponse_SERVING)
			p := peer{addr: e.addr, large: large, tally: e.counts}
			switch name {
			case "nginx":
				p.addr = proxy(t, e.addr, "grpc-nginx.conf", "nginx", "-e", "error.log", "-p", "DIR", "-c", "FILE")
			case "envoy":
				p.addr = proxy(t, e.addr, "grpc-envoy.yaml", tools(t, "envoy"), "-c", "FILE", "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error")
			}
			p.suite(t)
			e.stop()
			if name == "" {
				return
			}
			// What a proxy says of a server that is gone.
			o := with("")
			o.Proto = []string{"testdata/echo.proto"}
			r := load(t, o, p.target("Unary"), 5)
			want := map[string]string{"nginx": "5xx", "envoy": "unavailable"}[name]
			if len(r.Errors) != 1 || r.Errors[0].Class != want || r.Errors[0].Count != 5 {
				t.Errorf("without a server: %+v; want 5 of class %s", r.Errors, want)
			}
		})
	}
}

// TLS, in both engines.
func TestRealGRPCTLS(t *testing.T) {
	e := serveEcho(t, behaviour{v1: true, health: true, tls: true})
	e.health.SetServingStatus("test.v1.Echo", healthpb.HealthCheckResponse_SERVING)
	for _, mode := range []string{"loop", "worker"} {
		t.Run(mode, func(t *testing.T) {
			p := peer{scheme: "https://", mode: mode, addr: e.addr, large: "resource_exhausted", tally: e.counts}
			t.Run("methods", p.methods)
			t.Run("sizes", p.sizes)
		})
	}
}

// counts is peer.tally.
func (e *echo) counts(*testing.T) tally {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tally
}

// proxy starts a proxy before a server, with a file of scripts/servers.d, and returns its address.
func proxy(t *testing.T, server, settings string, command ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	text, err := os.ReadFile("../../../scripts/servers.d/" + settings)
	if err != nil {
		t.Fatal(err)
	}
	port := func(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
	dir := t.TempDir()
	file := filepath.Join(dir, settings)
	if err := os.WriteFile(file, []byte(strings.NewReplacer("@PORT@", port(addr), "@UPSTREAM@", port(server)).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range command {
		command[i] = strings.NewReplacer("DIR", dir, "FILE", file).Replace(command[i])
	}
	cmd, said := exec.Command(command[0], command[1:]...), new(strings.Builder)
	cmd.Dir, cmd.Stderr, cmd.Stdout = dir, said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for range 1200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return addr
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	t.Fatalf("%s does not listen\n%s", command[0], said)
	return ""
}

func (p peer) target(method string) string { return p.scheme + p.addr + "/test.v1.Echo/" + method }

// load makes a run of n calls.
func (p peer) load(t *testing.T, o *Options, method string, n uint64) *takt.Report {
	t.Helper()
	want := cmp.Or(p.mode, "loop")
	r := drivertest.Make(t, drivertest.Plan(t, "grpc", o, func(e *engine.Options) {
		e.Requests, e.Rate, e.Engine = n, engine.MustRate("500/s"), want
	}, p.target(method)))
	if r.Generator.Engine != want {
		t.Errorf("the engine is %s; want %s", r.Generator.Engine, want)
	}
	return r
}

// suite is what each peer should pass.
func (p peer) suite(t *testing.T) {
	t.Run("methods", p.methods)
	t.Run("statuses", p.statuses)
	t.Run("deadline", p.deadline)
	t.Run("sizes", p.sizes)
	t.Run("aging", p.ages)
	p.mode = "worker"
	t.Run("workers", func(t *testing.T) { p.methods(t); p.deadline(t) })
}

// Each kind of method, by reflection, when the health service says SERVING. takt's counts are the server's.
func (p peer) methods(t *testing.T) {
	const n, answers = 40, 3
	for _, c := range []struct {
		method    string
		sent, got int // messages of a call
	}{{"Unary", 1, 1}, {"Server", 1, answers}, {"Client", 2, 1}, {"Both", 2, 2}} {
		received := map[bool]int64{}
		for _, zip := range []bool{false, true} {
			o := with(`{"name":"a","count":3,"size":3000} {"name":"b{{.Seq}}","count":3,"size":3000}`)
			o.conn.Header.Set("X-Tenant: t{{.Seq}}")
			o.Gzip, o.WaitReady = zip, time.Minute
			before := p.tally(t)
			r := p.load(t, o, c.method, n)
			got, want := p.tally(t).minus(before), tally{n, n * c.sent, n * c.got, 0, n}
			if r.Counts.OK != n || got != want {
				t.Errorf("%s, gzip %v: takt %+v, %+v; the server %+v, want %+v", c.method, zip, r.Counts, r.Errors, got, want)
			}
			if m, _ := tokens.MessagesOf(r); c.method != "Unary" && (m.Sent != uint64(want.messages) || m.Received != uint64(want.answers)) {
				t.Errorf("%s: %+v; the server has %+v", c.method, m, want)
			}
			received[zip] = r.Bytes.Received
		}
		if plain := int64(n * c.got * 3000); received[false] < plain != p.zips || received[true] > plain/4 {
			t.Errorf("%s: %v bytes by gzip; a quarter of %d tells them apart", c.method, received, plain)
		}
	}
}

// Each status is a class, with the server's message.
func (p peer) statuses(t *testing.T) {
	for code, class := range codes {
		if code == 0 {
			continue
		}
		for _, method := range []string{"Unary", "Both"} {
			o := with(fmt.Sprintf(`{"code":%d}`, code))
			o.Proto = []string{"testdata/echo.proto"}
			r := p.load(t, o, method, 2)
			if len(r.Errors) != 1 || r.Errors[0].Class != class || r.Errors[0].Count != 2 || r.Status[fmt.Sprint(code)] != 2 ||
				!strings.HasPrefix(r.Errors[0].Sample, class+": höher: 100 % next") {
				t.Errorf("%s, code %d: %+v, status %v", method, code, r.Errors, r.Status)
			}
		}
	}
}

// Deadlines reach the server, and calls fail by them.
func (p peer) deadline(t *testing.T) {
	for _, method := range []string{"Unary", "Server"} {
		o, before := with(`{"wait_ms":20000,"count":1}`), p.tally(t)
		o.Deadline = 200 * time.Millisecond
		r := p.load(t, o, method, 10)
		got := p.tally(t).minus(before)
		if len(r.Errors) != 1 || r.Errors[0].Class != "deadline_exceeded" || r.Errors[0].Count != 10 || got.deadlines != 10 || r.Latency[takt.LatencyService].Min < 200e3 {
			t.Errorf("%s: %+v, service %+v; the server has %+v", method, r.Errors, r.Latency[takt.LatencyService], got)
		}
	}
}

// Messages that are too long for one side.
func (p peer) sizes(t *testing.T) {
	r := p.load(t, with(fmt.Sprintf(`{"name":%q}`, strings.Repeat("a", 5<<20))), "Unary", 3)
	if len(r.Errors) != 1 || r.Errors[0].Class != p.large || r.Errors[0].Count != 3 {
		t.Errorf("5 MiB to the server: %+v, %+v; want class %s", r.Counts, r.Errors, p.large)
	}
	for size, class := range map[int]string{4<<20 - 100: "", 5 << 20: "too_large"} {
		r := p.load(t, with(fmt.Sprintf(`{"size":%d}`, size)), "Unary", 3)
		if class == "" && r.Counts.OK != 3 || class != "" && (len(r.Errors) != 1 || r.Errors[0].Class != class || r.Errors[0].Count != 3) {
			t.Errorf("%d bytes from the server: %+v, %+v", size, r.Counts, r.Errors)
		}
	}
}

// The server says that its connections end, and no call is lost.
func (p peer) ages(t *testing.T) {
	if p.aging != "" {
		p.addr = p.aging
	}
	for _, method := range []string{"Unary", "Both"} {
		const n = 400
		before := p.tally(t)
		r := p.load(t, with(`{"name":"a","wait_ms":5}`), method, n)
		if got := p.tally(t).minus(before); r.Counts.OK != n || got.calls != n || got.answers != n {
			t.Errorf("%s: takt %+v, %+v; the server has %+v", method, r.Counts, r.Errors, got)
		}
	}
}

// killed kills the server under load, and starts it again at its port: takt connects again, and calls have failed only
// by connections.
func (p *program) killed(t *testing.T, target string, command []string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan := drivertest.Plan(t, "grpc", with(`{"name":"a"}`), func(e *engine.Options) {
		e.Rate, e.Duration = engine.MustRate("100/s"), time.Minute
	}, target)
	var before, after tally
	done := make(chan *takt.Report, 1)
	started := p.tally(t)
	go func() {
		r, err := engine.Run(ctx, plan)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	for before.calls < 50 {
		time.Sleep(20 * time.Millisecond)
		before = p.tally(t).minus(started)
	}
	p.kill()
	again := start(t, strings.TrimPrefix(p.first, "127.0.0.1:"), command...)
	for after.calls < 50 {
		time.Sleep(20 * time.Millisecond)
		after = again.tally(t)
	}
	cancel()
	r := <-done
	after = again.tally(t)
	if ok, unknown := int(r.Counts.OK), int(r.Counts.Unfinished)+10; ok < before.answers+after.answers-unknown || r.Counts.Failed == 0 {
		t.Errorf("takt has %+v; both servers answered %d and %d", r.Counts, before.answers, after.answers)
	}
	for _, e := range r.Errors {
		switch e.Class {
		case "refused", "closed", "reset":
		default:
			t.Errorf("%+v", e)
		}
	}
}
