package apm

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
)

// parse sets flags as the command does.
func parse(t *testing.T, args ...string) (*Options, []string) {
	t.Helper()
	o := New()
	fs := pflag.NewFlagSet("apm", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, fs.Args()
}

// All faults are told at once.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"http://127.0.0.1:8200", nil},
		{"", nil},
		{"--base-url http://a:1/ --base-url http://b:2 http://c", nil},
		{"--idle-timeout 3m --disable-redirects --disable-keepalive", nil},
		{"http://h/intake/v2/events ftp://x", []string{
			`url "http://h/intake/v2/events" is not that of a server alone; give the path of its intake with --endpoint`, `url "ftp://x" has the scheme ftp; use http or https`}},
		{"--profile nope -e 1", []string{"--profile is given with numbers of events, and has its own; leave one out", `unknown --profile "nope"; use one of heavy,`}},
		{"-t 0 -e 0", []string{"a request without an event is asked for; give --transactions or --errors above 0"}},
		{"--events 0", []string{"a request without an event"}},
		{"--events 1 -t 1", []string{"both --events and --transactions are given"}},
		{"--endpoint x", []string{`--endpoint "x" is not a path; begin it with /`}},
		{"--stream --intake v1 --profile heavy", []string{"--stream is given with --intake v1", "--stream is given with --profile"}},
		{"--secret abcdef --api-key ghijkl", []string{"several of --secret, --secret-file, --api-key and --api-key-file are given"}},
		{"--secret abcdef --header Authorization:x", []string{"both an Authorization header and --secret or --api-key are given"}},
		{"--secret-file /nowhere/at/all", []string{"cannot read the credentials"}},
		{"--timeout 0 --cacert /nowhere/at/all", []string{"--timeout and --connect-timeout must be above 0", "cannot read the authorities"}},
	} {
		o, args := parse(t, strings.Fields(tt.args)...)
		faults := o.Validate(args)
		if len(faults) != len(tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, faults, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(faults[i].Error(), want) {
				t.Errorf("%s: %q, want %q", tt.args, faults[i], want)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, ok := range map[string]bool{"0": true, "100000": true, "100001": false, "-1": false, "x": false, "": false, "1.5": false} {
		n := unset
		if err := n.Set(text); (err == nil) != ok || err == nil && n.String() != text {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
}

// What is left open is as hey-apm had it, but for a profile's rate.
func TestShape(t *testing.T) {
	for _, tt := range []struct {
		args string
		set  func(*engine.Options)
		want engine.Options
	}{
		{"", nil, engine.Options{Connections: 1, Duration: 10 * time.Second}},
		{"", func(e *engine.Options) { e.Duration = 30 * time.Second }, engine.Options{Connections: 1, Duration: 30 * time.Second}},
		{"", func(e *engine.Options) { e.Requests, e.Connections = 5, 3 }, engine.Options{Requests: 5, Connections: 3}},
		{"", func(e *engine.Options) { e.Rate = engine.MustRate("5/s") }, engine.Options{Rate: engine.MustRate("5/s"), Duration: 10 * time.Second}},
		{"--profile heavy", nil, engine.Options{Rate: engine.MustRate("541/s"), Duration: 10 * time.Second}},
		{"--profile heavy", func(e *engine.Options) { e.Rate = engine.MustRate("7/s") }, engine.Options{Rate: engine.MustRate("7/s"), Duration: 10 * time.Second}},
		{"--profile heavy", func(e *engine.Options) { e.Stages = engine.MustStages("1s@5/s") }, engine.Options{Stages: engine.MustStages("1s@5/s")}},
		{"--profile 45mb", nil, engine.Options{Connections: 100, Duration: 10 * time.Second}},
		{"--profile rum", nil, engine.Options{Connections: 15, Duration: 10 * time.Second}},
	} {
		o, _ := parse(t, strings.Fields(tt.args)...)
		e := engine.Options{}
		if tt.set != nil {
			tt.set(&e)
		}
		o.Shape(&e)
		if drain := e.Drain.Duration(); drain != 10*time.Second {
			t.Errorf("%s: drain %v", tt.args, drain)
		}
		e.Drain = engine.Drain{}
		if !reflect.DeepEqual(e, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.args, e, tt.want)
		}
	}
}

// The 24 profiles of hey-apm, with what came after them: workers and rates.
func TestProfiles(t *testing.T) {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.name)
		count := map[int]int{}
		for _, i := range p.order() {
			count[i]++
		}
		for i, part := range p.parts {
			rate := part.rate
			if rate == 0 {
				rate = unboundRate
			}
			// Shares are as the rates of all workers together.
			if want := float64(part.workers) * rate / (float64(p.parts[0].workers) * max(p.parts[0].rate, boundless(p.parts[0]))); float64(count[i])/float64(count[0]) != want {
				t.Errorf("%s: %d of %s beside %d of %s, want %v", p.name, count[i], part.name, count[0], p.parts[0].name, want)
			}
		}
	}
	want := strings.Fields("heavy tiny baddeploy maxspans huge 5mb 10mb 15mb 20mb 25mb 30mb 35mb 40mb 45mb 130kb 260kb 390kb 520kb 650kb 780kb 910kb 1mb rum rumtiny")
	if !slices.Equal(names[:24], want) || len(names) != 28 {
		t.Errorf("%d: %v", len(names), names)
	}
	for name, want := range map[string]float64{"heavy": 541, "tiny": 541, "baddeploy": 1021, "maxspans": 41, "huge": 4, "5mb": 0, "rum": 0, "monitoring/bad_json": 20} {
		if p, err := profileOf(name); err != nil || p.ratePerS() != want {
			t.Errorf("%s: %v a second, %v, want %v", name, p.ratePerS(), err, want)
		}
	}
}

func boundless(p part) float64 {
	if p.rate == 0 {
		return unboundRate
	}
	return 0
}

// The variables have the names of hey-apm's reports as takt imports them.
func TestVariables(t *testing.T) {
	for _, tt := range []struct {
		args string
		want map[string]any
	}{
		{"--events 10 --spans 5 --frames 7", map[string]any{"events": 10, "spans": 5, "frames": 7, "workers": 1, "apm_host": "localhost", "apm_servers": 1, "intake": "v2", "transactions": nil}},
		{"-t 1 -e 2 -s 3 -f 4 http://b:1 http://a:2", map[string]any{"transactions": 1, "errors": 2, "spans": 3, "frames": 4, "events": nil, "apm_host": "a,b", "apm_servers": 2}},
		{"--profile heavy --secret abcdef", map[string]any{"profile": "heavy", "events": nil, "frames": nil, "workers": nil, "auth": "bearer"}},
		{"--stream --pause 5ms --timeout 3", map[string]any{"stream": true, "pause_s": 0.005, "timeout_s": 3.0}},
	} {
		o, args := parse(t, strings.Fields(tt.args)...)
		o.Shape(&engine.Options{})
		if faults := o.Validate(args); len(faults) > 0 {
			t.Fatal(faults)
		}
		v := o.Variables()
		for name, want := range tt.want {
			if v[name] != want {
				t.Errorf("%s: %s is %v (%T), want %v", tt.args, name, v[name], v[name], want)
			}
		}
	}
}

// Secrets are known, so that they are nowhere shown, in each form that a server may echo.
func TestSecrets(t *testing.T) {
	o, args := parse(t, "--api-key", "my-id:my-key", "http://ann:pass-word@h:1")
	if faults := o.Validate(args); len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := o.Secrets(); !slices.Equal(got, []string{"bXktaWQ6bXkta2V5", "my-key", "YW5uOnBhc3Mtd29yZA==", "pass-word"}) {
		t.Errorf("%q", got)
	}
}

// --describe and --dump send nothing.
func TestPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ args, file, want string }{
		{"--describe --profile tiny --disable-compression", "", "POST http://localhost:8200/intake/v2/events?verbose\n  11"},
		{"--dump --profile tiny", "tiny.yml", "tiny.yml: "},
		{"--dump -e 1 -t 2 -s 3 -f 4", "POST_1_2_3_4_1.yml", "POST_1_2_3_4_1.yml: "},
		{"--dump --profile monitoring/bad_json", "monitoring_bad_json.yml", "monitoring_bad_json.yml: "},
	} {
		o, _ := parse(t, strings.Fields(tt.args)...)
		if faults := o.Validate(nil); len(faults) > 0 {
			t.Fatal(faults)
		}
		var out strings.Builder
		if err := o.Plan(t.Context(), &out, nil); !o.Plans() || err != nil || !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("%s: %t, %v, %q", tt.args, o.Plans(), err, out.String())
		}
		if tt.file == "" {
			continue
		}
		text, err := os.ReadFile(tt.file)
		if err != nil || !strings.HasPrefix(string(text), "loadbeat:\n  targets:\n    - concurrent: ") {
			t.Errorf("%s: %v %.80q", tt.file, err, text)
		}
	}
	if New().Plans() {
		t.Error("it plans without being asked to")
	}
}

// Body is what the shell's dump writes: the same as what is sent.
func TestBody(t *testing.T) {
	o, _ := parse(t, "--events", "2", "--spans", "3")
	if faults := o.Validate(nil); len(faults) > 0 {
		t.Fatal(faults)
	}
	kinds := map[string]int{}
	for _, e := range eventsOf(t, body{text: o.Body()}) {
		kinds[e.kind]++
	}
	if !maps.Equal(kinds, map[string]int{"metadata": 1, "transaction": 2, "span": 6}) {
		t.Errorf("%v", kinds)
	}
}
