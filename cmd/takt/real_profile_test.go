//go:build real

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/pkg/takt"
)

// The functions of a server: each request is one of a handler, which calls six helpers.
const (
	handlers = 20
	helpers  = 20
	calls    = 6
)

// runtimeOf is a server of 40 functions in one language, and how its profile is taken.
type runtimeOf struct {
	name    string
	needs   []string // programs
	file    string
	begin   string // of the file; %d is handlers
	handler string // number, turns, calls of helpers
	call    string // number
	helper  string // number, turns
	end     string
	turns   int // of a loop in each function: a request is to need about a millisecond
	build   string
	run     string
	profile string
	named   string // how takt names a helper
	also    map[string]string
}

// goServer counts requests, so that each handler has as many.
const goServer = `package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"sync/atomic"
)

func main() {
	var seen atomic.Int64
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		n := int(seen.Add(1))
		fmt.Fprintln(w, table[n%%%d](n))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
`

const pythonServer = `import http.server, itertools, os

seen = itertools.count()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        n = next(seen)
        body = str(table[n %% %d](n)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

`

const nodeServer = `const http = require('node:http')
let seen = 0
http.createServer((request, response) => {
  seen++
  response.end(String(table[seen %% %d](seen)))
}).listen(process.env.PORT, '127.0.0.1')
`

// nodeHook is in docs/verify-profile.md, too.
const nodeHook = `const inspector = require('node:inspector'), fs = require('node:fs')
const session = new inspector.Session()
session.connect()
let on = false
process.on('SIGUSR2', () => {
  on = !on
  if (on) return session.post('Profiler.enable', () => session.post('Profiler.start'))
  session.post('Profiler.stop', (error, { profile }) => {
    const file = '/tmp/' + process.pid + '.cpuprofile'
    fs.writeFileSync(file + '.part', JSON.stringify(profile))
    fs.renameSync(file + '.part', file)
  })
})
`

const javaServer = `import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

public class Server {
    static int seen = 0;
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
        server.createContext("/", exchange -> {
            seen++;
            byte[] body = String.valueOf(handle(seen %% %d, seen)).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
`

// javaFolded makes stacks of the events of JFR.
const javaFolded = `awk '/stackTrace = \[/{on=1; s=""; next} /^  \]/{on=0; if (s!="") n[s]++} on{sub(/\(.*/,""); gsub(/ /,""); s=$0 (s=="" ? "" : ";") s} END{for (s in n) print s, n[s]}'`

func runtimesOf() []runtimeOf {
	return []runtimeOf{
		{
			name: "go", needs: []string{"go"}, file: "main.go", begin: goServer, turns: 150_000,
			handler: "\nfunc handler%02[1]d(n int) int {\n\tfor i := 0; i < %[2]d; i++ {\n\t\tn = n*31 + i\n\t}\n\treturn n%[3]s\n}\n", call: " + helper%02d(n)",
			helper: "\nfunc helper%02d(n int) int {\n\tfor i := 0; i < %d; i++ {\n\t\tn = n*31 + i\n\t}\n\treturn n\n}\n",
			end:    "\nvar table = []func(int) int{%s}\n", build: buildServer, run: runServer, profile: "auto", named: "main.helper%02d",
			also: map[string]string{"go.mod": "module example.com/server\n\ngo 1.22\n"},
		},
		{
			name: "python", needs: []string{"python3", "py-spy"}, file: "server.py", begin: pythonServer, turns: 6000,
			handler: "\ndef handler%02[1]d(n):\n    for i in range(%[2]d):\n        n = (n * 31 + i) & 65535\n    return n%[3]s\n", call: " + helper%02d(n)",
			helper: "\ndef helper%02d(n):\n    for i in range(%d):\n        n = (n * 31 + i) & 65535\n    return n\n",
			end:    "\ntable = [%s]\nhttp.server.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()\n",
			run:    "exec python3 server.py", profile: "py-spy record -n -g -r 200 -d {{.Seconds}} -F -f raw -o {{.File}} --pid {{.Pid}}", named: "helper%02d (server.py)",
		},
		{
			name: "node", needs: []string{"node"}, file: "server.js", begin: nodeServer, turns: 150_000,
			handler: "\nfunction handler%02[1]d(n) {\n  for (let i = 0; i < %[2]d; i++) {\n    n = (n * 31 + i) & 65535\n  }\n  return n%[3]s\n}\n", call: " + helper%02d(n)",
			helper: "\nfunction helper%02d(n) {\n  for (let i = 0; i < %d; i++) {\n    n = (n * 31 + i) & 65535\n  }\n  return n\n}\n",
			end:    "\nconst table = [%s]\n", run: "exec node --no-turbo-inlining -r ./hook.cjs server.js", named: "helper%02d (server.js)", also: map[string]string{"hook.cjs": nodeHook},
			profile: "kill -USR2 {{.Pid}}; sleep {{.Seconds}}; kill -USR2 {{.Pid}}; until mv /tmp/{{.Pid}}.cpuprofile {{.File}} 2>/dev/null; do sleep 0.1; done",
		},
		{
			name: "java", needs: []string{"java", "javac", "jcmd", "jfr"}, file: "Server.java", begin: javaServer, turns: 150_000,
			handler: "\n    static int handler%02[1]d(int n) {\n        for (int i = 0; i < %[2]d; i++) {\n            n = n * 31 + i;\n        }\n        return n%[3]s;\n    }\n", call: " + helper%02d(n)",
			helper: "\n    static int helper%02d(int n) {\n        for (int i = 0; i < %d; i++) {\n            n = n * 31 + i;\n        }\n        return n;\n    }\n",
			end:    "\n    static int handle(int k, int n) {\n        java.util.function.IntUnaryOperator[] table = {%s};\n        return table[k].applyAsInt(n);\n    }\n}\n",
			build:  "javac Server.java", run: "exec java -XX:StartFlightRecording=name=takt,settings=profile -Dsun.net.httpserver.nodelay=true Server", named: "Server.helper%02d",
			profile: "sleep {{.Seconds}} && jcmd {{.Pid}} JFR.dump name=takt begin=-{{.Seconds}}s filename={{.File}}.jfr && jfr print --events jdk.ExecutionSample --stack-depth 64 {{.File}}.jfr | " + javaFolded + " >{{.File}}",
		},
	}
}

// source is the program in which one helper is slower by percent of a mean request.
func (r runtimeOf) source(helper int, percent float64) string {
	total := float64(r.turns * (1 + calls))
	more := int(total * percent / 100 * helpers / calls) // a helper has calls of helpers of the requests
	var b strings.Builder
	fmt.Fprintf(&b, r.begin, handlers)
	var table []string
	for i := range handlers {
		sum := ""
		for k := range calls {
			sum += fmt.Sprintf(r.call, (i+k)%helpers)
		}
		fmt.Fprintf(&b, r.handler, i, r.turns, sum)
		name := fmt.Sprintf("handler%02d", i)
		if r.name == "java" {
			name = "Server::" + name
		}
		table = append(table, name)
	}
	for i := range helpers {
		turns := r.turns
		if i == helper {
			turns += more
		}
		fmt.Fprintf(&b, r.helper, i, turns)
	}
	fmt.Fprintf(&b, r.end, strings.Join(table, ", "))
	return b.String()
}

// has skips a test without the programs of the runtime.
func (r runtimeOf) has(t *testing.T) {
	t.Helper()
	for _, program := range r.needs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
}

// repository has two commits, of which the second one has a slower helper.
func (r runtimeOf) repository(t *testing.T, helper int, percent float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "server")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range r.also {
		write(t, filepath.Join(dir, name), text)
	}
	write(t, filepath.Join(dir, r.file), r.source(-1, 0))
	gitIn(t, dir, "git init -q -b main .; git add -A; git commit -qm base; git tag base")
	write(t, filepath.Join(dir, r.file), r.source(helper, percent)+"\n")
	gitIn(t, dir, "git add -A; git commit -qm head; git tag head")
	return dir
}

// profiledCase is one comparison: a helper that is slower by percent of a request, or none at 0.
type profiledCase struct {
	helper  int
	percent float64
}

// The cases of --profile: ten functions slower by 3 to 20 %, and five unchanged pairs.
func profiledCases() (cases []profiledCase) {
	for i, p := range []float64{20, 15, 12, 10, 8, 7, 6, 5, 4, 3} {
		cases = append(cases, profiledCase{i, p})
	}
	for range 5 {
		cases = append(cases, profiledCase{helpers - 1, 0})
	}
	return cases
}

// sampled makes one comparison. It returns the functions, and what takt said.
func (r runtimeOf) sampled(t *testing.T, c profiledCase, pairs int, length string) (*functions.Result, string) {
	t.Helper()
	dir := r.repository(t, c.helper, c.percent)
	judgement := filepath.Join(filepath.Dir(dir), "j.json")
	args := []string{"--git", "base..head", "--run", r.run, "--pairs", "1", "--metric", "p50", "--profile", r.profile, "--profile-pairs", strconv.Itoa(pairs), "-o", "text=-", "-o", "json=" + judgement}
	if r.build != "" {
		args = append(args, "--build", r.build)
	}
	out, _ := gitCommand(t, dir, append(args, "--", "http", "-c", "1", "-z", length, portURL)...).CombinedOutput() // exit code 5
	var j struct{ Functions *functions.Result }
	readJSON(t, judgement, &j)
	return j.Functions, string(out)
}

// said is the line of a case, and whether it is right: the helper is first and slower, or nothing is.
func (r runtimeOf) said(c profiledCase, result *functions.Result) (line string, right bool) {
	worded := 0
	for _, f := range result.Functions {
		if f.Word != functions.Unproven {
			worded++
		}
	}
	first := result.Slowest()
	want := fmt.Sprintf(r.named, c.helper)
	if c.percent == 0 {
		return fmt.Sprintf("unchanged: %d named", worded), worded == 0
	}
	at := slices.IndexFunc(result.Functions, func(f functions.Function) bool { return f.Name == want })
	found := "not proven"
	if at >= 0 {
		f := result.Functions[at]
		found = fmt.Sprintf("place %d, %.1f to %.1f µs, %+.1f µs, word %q, touched %v", at+1, f.Base, f.Head, f.Difference, f.Word, f.Touched)
	}
	return fmt.Sprintf("%s: %s; %d named", want, found, worded), first != nil && first.Name == want
}

// Functions that became slower are named. PROFILES names the runtimes, such as go,python,node,java; PROFILE_CASES
// replaces the percents of the cases, PROFILE_PAIRS (12) and PROFILE_TIME (1.8s) are the pairs and the length of a run. A case
// needs about two minutes, on a quiet machine.
func TestProfiles(t *testing.T) {
	names := strings.Split(os.Getenv("PROFILES"), ",")
	if names[0] == "" {
		t.Skip("it needs PROFILES, such as go, and half an hour of a quiet machine for each; make soak runs it")
	}
	cases := profiledCases()
	if only := os.Getenv("PROFILE_CASES"); only != "" { // percents
		cases = nil
		for i, text := range strings.Split(only, ",") {
			p, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, profiledCase{i, p})
		}
	}
	pairs, length := 12, "1.8s"
	if n, _ := strconv.Atoi(os.Getenv("PROFILE_PAIRS")); n > 0 {
		pairs = n
	}
	if text := os.Getenv("PROFILE_TIME"); text != "" {
		length = text
	}
	for _, r := range runtimesOf() {
		if !slices.Contains(names, r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			r.has(t)
			right, named := [2]int{}, [2]int{}
			for _, c := range cases {
				began := time.Now()
				average, _ := os.ReadFile("/proc/loadavg")
				result, text := r.sampled(t, c, pairs, length)
				if result == nil {
					t.Fatalf("%.0f %%: no functions\n%s", c.percent, text)
				}
				line, ok := r.said(c, result)
				kind := 0
				if c.percent == 0 {
					kind = 1
				}
				named[kind]++
				if ok {
					right[kind]++
				}
				if !ok {
					t.Log(text)
				}
				t.Logf("%s %4.0f %%: %-5v %s; %.0f s, load %s", r.name, c.percent, ok, line, time.Since(began).Seconds(), strings.Fields(string(average))[0])
			}
			t.Logf("%s: named first in %d of %d; nothing named in %d of %d unchanged pairs", r.name, right[0], named[0], right[1], named[1])
			if named[0]-right[0] > max(1, named[0]/10) || right[1] < named[1] {
				t.Error("too few are right")
			}
		})
	}
}

// loadOf is the rate and the p99 of a run of takt against a server.
func loadOf(t *testing.T, s *service.Server, length string) (rate, p99 float64) {
	t.Helper()
	p := exec.Command("takt", "http", "--no-store", "--progress", "none", "-o", "json=-", "-c", "2", "-z", length, s.WithPort(portURL))
	out, err := p.Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := document.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	return r.Rate.Achieved, r.Latency[takt.LatencyResponse].P99
}

// What a profile costs a server, in turns with runs without one: its rate and the p99 of two connections. PROFILES names
// the runtimes, PROFILE_TURNS (20) is the number of pairs, and PROFILE_TIME (4s) the length of a run. It judges
// nothing: docs/verify-profile.md has the figures.
func TestProfileOverhead(t *testing.T) {
	names := strings.Split(os.Getenv("PROFILES"), ",")
	if names[0] == "" {
		t.Skip("it needs PROFILES, such as go,python, and 4 minutes of a quiet machine for each; make soak runs it")
	}
	turns, length := 20, "4s"
	if n, _ := strconv.Atoi(os.Getenv("PROFILE_TURNS")); n > 0 {
		turns = n
	}
	if text := os.Getenv("PROFILE_TIME"); text != "" {
		length = text
	}
	last, err := time.ParseDuration(length)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int(last.Seconds() + 1)
	for _, r := range runtimesOf() {
		if !slices.Contains(names, r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			r.has(t)
			dir := r.repository(t, -1, 0)
			if r.build != "" {
				gitIn(t, dir, r.build)
			}
			ready, err := service.NewReady("tcp", 0)
			if err != nil {
				t.Fatal(err)
			}
			s, err := service.Start(t.Context(), service.Options{Command: r.run, Folder: dir, Env: os.Environ(), Ready: ready, Patience: time.Minute, Grace: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			profile := func() error {
				if r.profile == "auto" {
					_, err := s.Profile(t.Context(), service.Pages([]string{portURL}, "/debug/pprof/profile")[0], seconds)
					return err
				}
				_, err := s.ProfileBy(t.Context(), r.profile, seconds)
				return err
			}
			loadOf(t, s, length)         // warm-up
			var rates, p99s stats.Paired // logarithms of the quotient of with and without
			for i := range turns {
				var rate, p99 [2]float64
				for k := range 2 {
					with := (i + k) % 2
					done := make(chan error, 1)
					if with == 1 {
						go func() { done <- profile() }()
						time.Sleep(300 * time.Millisecond) // it begins
					} else {
						done <- nil
					}
					rate[with], p99[with] = loadOf(t, s, length)
					if err := <-done; err != nil {
						t.Fatal(err)
					}
				}
				rates, p99s = append(rates, math.Log(rate[1]/rate[0])), append(p99s, math.Log(p99[1]/p99[0]))
			}
			for _, f := range []struct {
				name string
				d    stats.Paired
			}{{"rate", rates}, {"p99", p99s}} {
				low, high := f.d.Interval(0.05)
				percent := func(v float64) float64 { return 100 * (math.Exp(v) - 1) }
				t.Logf("%s, %s with a profile: %+.2f %% (95 %%: %+.2f to %+.2f %%), %d pairs", r.name, f.name, percent(f.d.Estimate()), percent(low), percent(high), turns)
			}
		})
	}
}
