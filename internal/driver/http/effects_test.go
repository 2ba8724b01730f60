package http_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// trial is how the test shows the effect of a flag.
type trial struct {
	words   func(s *scene) []string // the flag, and what it needs
	beside  []string                // words that the run without the flag has, too
	path    string                  // of the URL; "": /
	url     string                  // instead of the recorder's
	tls     bool                    // the recorder speaks TLS
	h2      bool                    // all ways speak HTTP/2
	tunnel  bool                    // the recorder is a proxy, and speaks TLS in its tunnels
	socket  bool                    // the recorder has a Unix socket
	free    bool                    // -c is left out
	rate    bool                    // there is a schedule
	loose   bool                    // ways differ in connections and results for reasons beside the flag
	apart   bool                    // … and in requests
	n       uint64                  // requests; 0: 3
	hops    int                     // requests beyond n
	want    []string                // texts of what is sent
	result  []string                // texts of the report
	not     []string                // texts of nothing that is sent
	differs []string                // want of cells that differ
	setup   func(t *testing.T, s *scene)
}

// scene is one run of a trial.
type scene struct {
	way      string
	config   *tls.Config       // of the recorder
	files    map[string]string // paths by name
	r        *recorder
	o        *http.Options
	keys     string        // path of the key log
	patience time.Duration // for a connection or an answer
}

func words(list ...string) func(*scene) []string { return func(*scene) []string { return list } }

// trials has one for each row of the table.
func trials() map[string]trial {
	file := func(flag, name string, more ...string) func(*scene) []string {
		return func(s *scene) []string { return append([]string{"--" + flag, s.files[name]}, more...) }
	}
	const suite = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	basic := []string{"Authorization: Basic YW5uOnRpZ2Vy"}
	bearer := []string{"Authorization: Bearer tiger"}
	insecure := []string{"--insecure"}
	secure := func(list ...string) trial { return trial{words: words(list...), beside: insecure, tls: true} }
	only12 := func(_ *testing.T, s *scene) { s.r.maxTLS = tls.VersionTLS12 }
	ciphers := secure("--tls-ciphers", suite)
	ciphers.setup, ciphers.want = only12, []string{"TLS 1.2 " + suite}
	max12 := secure("--tls-max", "1.2")
	max12.want = []string{"-- connection 1 TLS 1.2"}
	min13 := secure("--tls-min", "1.3")
	min13.setup, min13.result, min13.loose = only12, []string{"not started: ", "protocol version"}, true
	keys := trial{words: func(s *scene) []string { return []string{"--tls-keylog", s.keys} }, beside: insecure, tls: true, result: []string{"key log: secrets"}, loose: true}
	resume := secure("--tls-resume", "--disable-keepalive")
	resume.beside, resume.want, resume.loose = []string{"--insecure", "--disable-keepalive"}, []string{"-- connection 3 TLS 1.3 resumed"}, true
	cert := trial{words: func(s *scene) []string { return []string{"--cert", s.files["cert"], "--key", s.files["key"]} }, beside: insecure, tls: true, want: []string{"certificate of ann"}}
	mute := trial{
		words: func(s *scene) []string {
			return []string{"--connect-timeout", s.patience.String(), "--disable-keepalive"}
		}, beside: []string{"--insecure", "--disable-keepalive"}, tls: true,
		result: []string{" × connect_timeout"}, apart: true, setup: func(_ *testing.T, s *scene) { s.r.mute = s.way != "hey" },
	}
	return map[string]trial{
		"method":        {words: words("--method", "put"), want: []string{"PUT / HTTP/1.1\n"}},
		"header":        {words: words("-H", "x-oDD: 1", "-H", "X-Two: 2", "-H", "user-AGENT: me", "-H", "connection: X"), want: []string{"\nX-Two: 2\nconnection: X\nuser-AGENT: me\nx-oDD: 1\n"}, differs: []string{"\nuser-agent: me\nx-odd: 1\nx-two: 2\n"}},
		"accept":        {words: words("-A", "a/b"), want: []string{"\nAccept: a/b\n"}},
		"user-agent":    {words: words("-U", "me"), want: []string{"\nUser-Agent: me\n"}},
		"content-type":  {words: words("-T", "x/y", "-m", "POST", "-d", "b"), want: []string{"\nContent-Type: x/y\n"}},
		"auth":          {words: words("-a", "ann:tiger"), want: basic},
		"auth-file":     {words: file("auth-file", "basic"), want: basic},
		"bearer":        {words: words("--bearer", "tiger"), want: bearer},
		"bearer-file":   {words: file("bearer-file", "token"), want: bearer},
		"host":          {words: words("--host", "example.org"), want: []string{"\nHost: example.org\n"}},
		"body":          {words: words("-m", "POST", "-d", "n={{.Seq}}"), want: []string{"\nContent-Length: 3\n", "\n\nn=0\n", "\n\nn=2\n"}},
		"body-file":     {words: file("body-file", "body", "-m", "POST"), want: []string{"\n\nn={{.Seq}}\n"}},
		"body-template": {words: file("body-file", "body", "-m", "POST", "--body-template"), want: []string{"\n\nn=0\n", "\n\nn=2\n"}},
		"scenario":      {words: file("scenario", "steps"), want: []string{"GET /one HTTP/1.1\n", "POST /two HTTP/1.1\n"}},
		"rounds":        {words: file("scenario", "steps", "--rounds", "100/s"), free: true, n: 1, want: []string{"GET /one HTTP/1.1\n", "POST /two HTTP/1.1\n"}, result: []string{"2 × 200"}},
		"targets":       {words: file("targets", "targets"), want: []string{"GET /one HTTP/1.1\n", "POST /two HTTP/1.1\n", "\nx-oDD: 1\n"}},
		"targets several hosts": {
			words: file("targets", "hosts"), want: []string{"GET /one HTTP/1.1\n", "GET /two HTTP/1.1\n", "connection 2"},
			setup: func(t *testing.T, s *scene) {
				_, port, _ := net.SplitHostPort(s.r.addr)
				s.files["hosts"] = write(t, "hosts", "GET http://127.0.0.1:"+port+"/one\nGET http://[::ffff:127.0.0.1]:"+port+"/two\n")
			},
		},
		"targets longer than memory": {words: file("targets", "targets"), setup: func(_ *testing.T, s *scene) { s.o.KeepTargets(1) }, want: []string{"GET /one HTTP/1.1\n", "POST /two HTTP/1.1\n"}},
		"timeout":                    {words: func(s *scene) []string { return []string{"--timeout", s.patience.String()} }, path: "/hang", result: []string{"3 × timeout"}, loose: true, differs: []string{"GET /hang HTTP/1.1\n"}},
		"connect-timeout":            mute,
		"disable-compression":        {words: words("--disable-compression"), not: []string{"Accept-Encoding"}},
		"disable-keepalive":          {words: words("--disable-keepalive"), want: []string{"\nConnection: close\n", "-- connection 3"}, differs: []string{"-- connection 3"}},
		"h2":                         {words: words("--h2"), beside: insecure, tls: true, h2: true, want: []string{"GET / HTTP/2\n"}},
		"h2 without TLS":             {words: words("--h2"), h2: true, want: []string{"GET / HTTP/2\n"}},
		"h2-connections":             {words: words("--h2-connections", "2"), beside: insecure, path: "/together/2", tls: true, h2: true, free: true, n: 2, want: []string{"-- connection 1 TLS", "-- connection 2 TLS"}, loose: true},
		"h2-streams":                 {words: words("--h2-streams", "2"), beside: insecure, path: "/together/2", tls: true, h2: true, free: true, n: 2, want: []string{"-- connection 1 TLS"}, not: []string{"connection 2"}, loose: true},
		"proxy":                      {words: func(s *scene) []string { return []string{"-x", s.r.addr} }, url: "http://service.example/x", want: []string{"GET http://service.example/x HTTP/1.1\nAccept-Encoding: gzip\nHost: service.example\n", "-- connection 3"}, differs: []string{"GET http://service.example/x HTTP/1.1\n"}},
		"proxy to https": {
			words: func(s *scene) []string { return []string{"-x", "http://ann:tiger@" + s.r.addr} }, beside: []string{"--insecure"}, url: "https://service.example/x", tunnel: true,
			want: []string{"GET /x HTTP/1.1\nAccept-Encoding: gzip\nHost: service.example\n", "TLS 1.3"}, differs: []string{"TLS 1.3"}, not: []string{"\nProxy-"}, result: []string{"CONNECT service.example:443 HTTP/1.1\nHost: service.example:443\nProxy-Authorization: Basic YW5uOnRpZ2Vy\n"},
		},
		"proxy over TLS": {
			words: func(s *scene) []string { return []string{"-x", "https://" + s.r.addr} }, beside: []string{"--insecure"}, url: "http://service.example/x", tls: true,
			want: []string{"GET http://service.example/x HTTP/1.1\nAccept-Encoding: gzip\nHost: service.example\n"},
		},
		"unix-socket": {
			words: func(s *scene) []string { return []string{"--unix-socket", s.r.addr} }, socket: true, url: "http://service.example/x", want: []string{"GET /x HTTP/1.1\n", "\nHost: service.example\n"},
			differs: []string{"GET /x HTTP/1.1\n", "\nHost: service.example\n"},
		},
		"connect-to": {words: func(s *scene) []string { return []string{"--connect-to", "::" + s.r.addr} }, url: "http://service.example/x", want: []string{"GET /x HTTP/1.1\n", "\nHost: service.example\n"}},
		"insecure":   {words: words("--insecure"), tls: true, want: []string{"-- connection 1 TLS 1.3"}},
		"cacert":     {words: file("cacert", "ca"), tls: true, want: []string{"-- connection 1 TLS 1.3"}},
		"cert":       cert, "key": cert, "tls-min": min13, "tls-max": max12, "tls-ciphers": ciphers, "tls-keylog": keys, "tls-resume": resume,
		"client":            {words: func(s *scene) []string { return []string{"--client", clientOf(s.way)} }, result: []string{"3 × 200"}},
		"redirects":         {words: words("--redirects", "1"), path: "/redirect", n: 1, hops: 1, want: []string{"GET /redirect HTTP/1.1\n", "GET /next HTTP/1.1\n"}, result: []string{"1 × 200"}, differs: []string{"GET /next HTTP/1.1\n"}},
		"disable-redirects": {words: words("--disable-redirects"), path: "/redirect", want: []string{"GET /redirect HTTP/1.1\n"}, result: []string{"3 × 302"}, not: []string{"/next"}},
		"fail-on":           {words: words("--fail-on", "404"), path: "/status/404", result: []string{"failed 3: 3 × 404"}},
		"expect-body":       {words: words("--expect-body", "nope"), result: []string{"failed 3: 3 × body"}, not: []string{"Accept-Encoding"}, differs: []string{"GET / HTTP/1.1\n"}},
		"stream":            {words: words("--stream"), rate: true, result: []string{"3 × 200", "ok 3"}, not: []string{"Accept-Encoding"}},
		"stream-max":        {words: words("--stream", "--stream-max", "1"), rate: true, loose: true, result: []string{"3 × too_large"}},
		"contrast":          {words: words("--contrast", "1s"), rate: true, beside: insecure, tls: true, want: []string{"GET / HTTP/1.1\n"}},
	}
}

func clientOf(way string) string {
	switch way {
	case "net":
		return "net"
	case "hey":
		return "auto"
	}
	return "own"
}

// Each flag of takt http has the effect that its row of the table says, in each way to send requests: the
// same bytes on the wire, classes and counts.
func TestFlagsHaveTheSameEffect(t *testing.T) {
	config, raw := certificate()
	cert, key, _ := authority(t, "ann")
	files := map[string]string{
		"basic": write(t, "basic", "ann:tiger\n"), "token": write(t, "token", "tiger\n"), "body": write(t, "body", "n={{.Seq}}"),
		"steps": write(t, "steps", "GET /one\n\nPOST /two\n@body b\n"), "targets": write(t, "targets", "GET /one\n\nPOST /two\nx-oDD: 1\n"),
		"ca": write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))), "cert": cert, "key": key,
	}
	rows := map[string][]http.Cell{}
	for _, c := range http.Cells() {
		row := strings.TrimSpace(c.Flag + " " + c.Of)
		rows[row] = append(rows[row], c)
	}
	all := trials()
	for row, cells := range rows {
		one, ok := all[row]
		if !ok {
			t.Errorf("the row %q has no trial in this test", row)
			continue
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			var first seenBy
			for _, cell := range cells {
				t.Run(cell.Way, func(t *testing.T) {
					s := &scene{way: cell.Way, config: config, files: maps.Clone(files), patience: 300 * time.Millisecond}
					first = one.in(t, s, cell, first)
				})
			}
		})
	}
	for row := range all {
		if rows[row] == nil {
			t.Errorf("the trial %q has no row in the table of flags", row)
		}
	}
}

// Each flag of takt http has a row in the table.
func TestFlagsHaveRows(t *testing.T) {
	known := map[string]bool{}
	for _, c := range http.Cells() {
		known[c.Flag] = true
	}
	fs := pflag.NewFlagSet("http", pflag.ContinueOnError)
	http.New().AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] {
			t.Errorf("--%s has no row in effects of effects.go; say there what the flag does in each way to send requests, and add a trial to effects_test.go", f.Name)
		}
		delete(known, f.Name)
	})
	for name := range known {
		t.Errorf("--%s has a row in effects of effects.go, and is not a flag", name)
	}
}

// seenBy is what one way did.
type seenBy struct{ sent, result string }

// in runs a cell, and compares it with the first way that is like it.
func (one trial) in(t *testing.T, s *scene, c http.Cell, first seenBy) seenBy {
	if c.Way == "hey" {
		racetest.Skip(t, "hey's requester has data races of its own")
	}
	if c.Refused != "" {
		if got := one.run(t, s, true); !strings.Contains(got.result, c.Refused) {
			t.Errorf("the table says that takt refuses it for %q, but:\n%s%s", c.Refused, got.sent, got.result)
		}
		return first
	}
	var got seenBy
	drivertest.Slowly(s.patience, func(timeout time.Duration) bool {
		s.patience = timeout
		got = one.run(t, s, true)
		switch c.Flag {
		case "timeout": // a request was too slow to be sent
			return c.Way != "hey" && strings.Count(got.sent, " /hang ") < 3
		case "connect-timeout": // the first handshake was too slow
			return strings.HasPrefix(got.result, "not started: ")
		}
		return false
	})
	switch {
	case c.Without != "":
		bare := &scene{way: s.way, config: s.config, files: s.files}
		if base := one.run(t, bare, false); one.plain(got.sent) != one.plain(base.sent) || got.sent == "" {
			t.Errorf("the table says that it has no effect: %s. But takt sent\n%s%s\nand without the flag\n%s", c.Without, got.sent, got.result, base.sent)
		}
		return first
	case c.Differs != "":
		one.want = one.differs
	}
	wants(t, got, got.sent, one.want)
	if c.Way != "hey" { // which reports less
		wants(t, got, got.result, one.result)
	}
	for _, w := range one.not {
		if strings.Contains(strings.ToLower(got.sent), strings.ToLower(w)) {
			t.Errorf("%q in\n%s", w, got.sent)
		}
	}
	if c.Differs != "" {
		return first
	}
	if first.sent == "" || one.apart {
		return got
	}
	if a, b := one.plain(inHTTP2(got.sent)), one.plain(inHTTP2(first.sent)); a != b || !one.loose && !overH2(got) && got.sent != first.sent {
		t.Errorf("%s sent\n%s\nand another way\n%s", c.Way, got.sent, first.sent)
	}
	if got.result != first.result && c.Way != "hey" && !one.loose {
		t.Errorf("%s has the result\n%s\nand another way\n%s", c.Way, got.result, first.result)
	}
	return first
}

func overH2(s seenBy) bool { return strings.Contains(s.sent, " HTTP/2\n") }

// wants looks for what a text of got must show. Over HTTP/2 names are in lower case.
func wants(t *testing.T, got seenBy, text string, want []string) {
	for _, w := range want {
		if !strings.Contains(text, w) && !(overH2(got) && strings.Contains(inHTTP2(text), inHTTP2(w))) {
			t.Errorf("no %q in\n%s%s", w, got.sent, got.result)
		}
	}
}

// inHTTP2 is what was sent in the words of HTTP/2, its lines sorted: names in lower case, and none about the connection.
func inHTTP2(sent string) string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(sent, " HTTP/1.1\n", " HTTP/2\n")) {
		name, value, ok := strings.Cut(line, ": ")
		if name = strings.ToLower(name); ok && name == "connection" {
			continue
		} else if ok {
			line = name + ": " + value
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

// plain is what was sent, of a loose trial without the connections.
func (one trial) plain(sent string) string {
	if !one.loose {
		return sent
	}
	return connectionLine.ReplaceAllString(sent, "")
}

var connectionLine = regexp.MustCompile(`(?m)^-- connection.*\n`)

// run makes the requests of a trial in one way, with its flag or without.
func (one trial) run(t *testing.T, s *scene, flag bool) seenBy {
	n := cmp.Or(one.n, 3)
	network, addr := "tcp", "127.0.0.1:0"
	if one.socket {
		network, addr = "unix", filepath.Join(t.TempDir(), "s")
	}
	s.r, s.o, s.keys = record(t, network, addr), http.New(), filepath.Join(t.TempDir(), "keys")
	if one.setup != nil {
		one.setup(t, s)
	}
	scheme := "http"
	if s.r.tunnel = one.tunnel; one.tls || one.tunnel {
		scheme = "https"
		s.r.secured(s.config)
	}
	s.r.start()
	fs := pflag.NewFlagSet("http", pflag.ContinueOnError)
	s.o.AddFlags(fs)
	list := slices.Clone(one.beside)
	if flag {
		list = append(list, one.words(s)...)
	}
	if (s.way == "h2" || one.h2) && !slices.Contains(list, "--h2") {
		list = append(list, "--h2")
	}
	list = append(list, "--client", clientOf(s.way))
	if err := fs.Parse(list); err != nil {
		t.Fatal(err)
	}
	url := cmp.Or(one.url, scheme+"://"+s.r.addr+one.path)
	if s.way == "hey" {
		return s.contrast(t, one, n, url)
	}
	e := engine.Defaults()
	e.Requests = n
	if !one.free {
		e.Connections = 1
	}
	if one.rate {
		e.Rate = engine.MustRate("100/s")
	}
	e.Drain = engine.DrainOf(time.Minute) // an operation ends by itself
	if s.way == "worker" {
		e.Engine = "worker"
	}
	r, err := s.load(t, e, url)
	if err != nil {
		return seenBy{"", "not started: " + err.Error()}
	}
	got := seenBy{s.r.text(100), resultOf(r)}
	if text, err := os.ReadFile(s.keys); err == nil && len(text) > 0 {
		got.result += "key log: secrets\n"
	}
	got.result += s.r.asked()
	if in, out := s.r.bytes(); !one.loose && !(one.tunnel && s.way == "net") && !overH2(got) && (r.Bytes.Sent != in || r.Bytes.Received != out) {
		t.Errorf("%d bytes sent and %d received, but the server counts %d and %d", r.Bytes.Sent, r.Bytes.Received, in, out)
	}
	if s.way == "loop" && r.Generator.Engine == "worker" && !one.socket {
		t.Errorf("the engine is %s", r.Generator.Engine)
	}
	return got
}

// load is a run of takt, or the reason why there is none.
func (s *scene) load(t *testing.T, e engine.Options, url string) (*takt.Report, error) {
	s.o.Shape(&e)
	if err := errors.Join(s.o.Validate(s.args(url))...); err != nil {
		return nil, err
	}
	src, err := e.Source()
	if err == nil {
		src, err = s.o.Source(t.Context(), src)
	}
	if err != nil {
		return nil, err
	}
	d, err := s.o.Open(t.Context(), 1)
	if err != nil {
		return nil, err
	}
	return engine.Run(t.Context(), engine.Plan{Options: e, Kind: "http", Source: src, Driver: d})
}

// args are those of the command. A list of whole URLs needs none.
func (s *scene) args(url string) []string {
	if s.files["hosts"] != "" {
		return nil
	}
	return []string{url}
}

// contrast lets hey send n requests, and one more, which shows that n were answered.
func (s *scene) contrast(t *testing.T, one trial, n uint64, url string) seenBy {
	e := engine.Defaults()
	if !s.o.Rounds.Given() {
		e.Rate = engine.MustRate("100/s")
	}
	if !one.free && s.o.Scenario == "" {
		e.Connections = 1
	}
	s.o.ContrastFor = time.Minute // the requests end it
	s.o.Shape(&e)
	if err := errors.Join(s.o.Validate(s.args(url))...); err != nil {
		return seenBy{"", "not started: " + err.Error()}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := n + 1
	if one.path == "/hang" {
		last = 2 // the first has timed out
	}
	s.r.mu.Lock()
	s.r.onRequest = func(k int) {
		if uint64(k) == last {
			cancel()
		}
	}
	s.r.mu.Unlock()
	r := &takt.Report{Extra: map[string]any{}}
	if err := s.o.Contrast(ctx, r); err != nil {
		t.Fatal(err)
	}
	return seenBy{s.r.text(int(n) + one.hops), ""}
}

// resultOf has the counts and classes of a report.
func resultOf(r *takt.Report) string {
	var b strings.Builder
	for _, status := range slices.Sorted(maps.Keys(r.Status)) {
		fmt.Fprintf(&b, "%d × %s\n", r.Status[status], status)
	}
	fmt.Fprintf(&b, "ok %d, failed %d:", r.Counts.OK, r.Counts.Failed)
	for _, c := range r.Errors {
		fmt.Fprintf(&b, " %d × %s", c.Count, c.Class)
	}
	return b.String() + "\n"
}
