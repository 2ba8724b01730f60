package generators

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type figuresOf = map[string]float64

// The figures are what a person reads in the fixtures.
func TestReaders(t *testing.T) {
	for name, want := range map[string]struct {
		reader  string
		figures figuresOf
	}{
		"ab-r.freeze":       {"ab", figuresOf{Answered: 252514, Errors: 0, Rate: 25246.56, P50: 2, P90: 2, P99: 2, Max: 1003}},
		"ab-r.rst":          {"ab", figuresOf{Answered: 80681, Errors: 2445, Rate: 16298.71, P50: 2, P90: 5, P99: 10, Max: 69}},
		"ab.close":          {"ab", figuresOf{Answered: 61579, Errors: 622, Rate: 12416.42, P50: 3, P90: 8, P99: 17, Max: 158}},
		"autocannon.rst":    {"autocannon", figuresOf{Answered: 3238, Errors: 33, Rate: 539.67, P50: 341, P90: 850, P99: 968, Max: 997}},
		"autocannon.freeze": {"autocannon", figuresOf{Answered: 5000, Errors: 0, Rate: 500, P50: 3, P90: 38, P99: 63, Max: 77}},
		"bombardier.freeze": {"bombardier", figuresOf{Answered: 4101, Errors: 0, P50: 1.209, P90: 1.335, P99: 964.382, Max: 1004.12}},
		"fortio.rst":        {"fortio", figuresOf{Answered: 400, Errors: 0, Rate: 193.7624942779271, P50: 1.706602480836237, P90: 7, P99: 27.5, Max: 58.040427}},
		"fortio-text.rst":   {"fortio", figuresOf{Answered: 400, Errors: 0, Rate: 185.4, P50: 1.66235, P90: 3.95833, P99: 113.333, Max: 131.417609}},
		"vegeta-text.rst":   {"vegeta", figuresOf{Answered: 400, Errors: 0, Rate: 200.6, P50: 1.209, P90: 2.821, P99: 10.51, Max: 27.524}},
		"wrk-plain.rst":     {"wrk", figuresOf{Answered: 7713, Errors: 75, Rate: 3850.29, Max: 45.71}},
		"h2load.rst":        {"h2load", figuresOf{Answered: 2234, Errors: 0, Rate: 372.33, Max: 5.72}},
		"hey.rst":           {"hey", figuresOf{Answered: 2999, Errors: 1, Rate: 499.1913, P50: 2.6, P90: 3.1, P99: 4.4, Max: 5.7}},
		"hey.freeze":        {"hey", figuresOf{Answered: 4163, Errors: 0, Rate: 411.3681, P50: 2.3, P90: 2.8, P99: 904.7, Max: 1004.9}},
		"httperf.rst":       {"httperf", figuresOf{Answered: 2970, Errors: 30, Rate: 500, P50: 28.5, Max: 409.4}},
		"jmeter.rst":        {"jmeter", figuresOf{Answered: 3, Errors: 1, Rate: 4 / 0.022, P50: 2, P90: 12, P99: 12, Max: 12}},
		"k6.freeze":         {"k6", figuresOf{Answered: 4094, Errors: 0, Dropped: 907, Rate: 400.758839, P50: 1.22, P90: 2.14, P99: 962.25, Max: 1000}},
		"k6-max.rst":        {"k6", figuresOf{Answered: 2960, Errors: 1, Dropped: 12, Rate: 483.076135, P50: 1.23, P90: 1.71, P99: 44.94, Max: 124.58}},
		"k6-pre.freeze":     {"k6", figuresOf{Answered: 5000, Errors: 0, Dropped: 0, Rate: 496.710321, P50: 1.24, P90: 511.33, P99: 960.98, Max: 1000}},
		"loadtest.rst":      {"loadtest", figuresOf{Answered: 2957, Errors: 30, Rate: 498, P50: 1, P90: 1, P99: 10, Max: 36}},
		"oha.freeze":        {"oha", figuresOf{Answered: 4505, Errors: 0, Rate: 455.18422491109715, P50: 1.191106, P90: 8.881373, P99: 911.890015, Max: 1001.965234}},
		"plow.freeze":       {"plow", figuresOf{Answered: 2549, Errors: 0, Rate: 424.821, P50: 1.116, P90: 1.212, P99: 957.289, Max: 1001.122}},
		"plow.rst":          {"plow", figuresOf{Answered: 2951, Errors: 81, Rate: 499.937, P50: 1.117, P90: 1.211, P99: 2.247, Max: 26.224}},
		"plow-text.rst":     {"plow", figuresOf{Answered: 2951, Errors: 81, Rate: 499.956, P50: 1.113, P90: 1.206, P99: 1.876, Max: 6.553}},
		"siege.freeze":      {"siege", figuresOf{Answered: 80200, Errors: 0, Rate: 8670.27, Max: 1060}},
		"vegeta.freeze":     {"vegeta", figuresOf{Answered: 5000, Errors: 0, Rate: 500.1161650323607, P50: 1.238711, P90: 506.523099, P99: 960.063636, Max: 1010.994497}},
		"wrk.freeze":        {"wrk", figuresOf{Answered: 250677, Errors: 0, Rate: 24834.81, P50: 1.55, P90: 392.99, P99: 942.29, Max: 1000}},
		"wrk.rst":           {"wrk", figuresOf{Answered: 82198, Errors: 830, Rate: 16299.46, P50: 2.04, P90: 6.61, P99: 16.46, Max: 36.1}},
		"wrk2.freeze":       {"wrk2", figuresOf{Answered: 4510, Errors: 0, Rate: 450.81, P50: 1.88, P90: 124.42, P99: 916.99, Max: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			text := fixture(t, name)
			r, err := Find(text)
			if err != nil {
				t.Fatal(err)
			}
			said, err := r.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			if r.Name != want.reader || said.Generator != want.reader {
				t.Errorf("read as %s, want %s", r.Name, want.reader)
			}
			for _, figure := range Names() {
				got, ok := said.Figures[figure]
				expected, wanted := want.figures[figure]
				if ok != wanted && !(figure == Dropped && got == 0) || math.Abs(got-expected) > 1e-6*math.Abs(expected) {
					t.Errorf("%s is %v (%v), want %v (%v)", figure, got, ok, expected, wanted)
				}
			}
		})
	}
}

// Every fixture is of exactly one generator, and no reader takes another one's.
func TestFixturesHaveOneReader(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		want, _, _ := strings.Cut(name, ".")
		want, _, _ = strings.Cut(want, "-")
		r, err := Find(fixture(t, name))
		if name == "ab.rst" { // it ended at the first reset
			if _, err := r.Read(fixture(t, name)); err == nil {
				t.Error("ab.rst was read")
			}
		}
		if err != nil || r.Name != want {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		seen[want] = true
	}
	for _, name := range Known() {
		if !seen[name] && !slices.Contains([]string{"locust", "ghz"}, name) {
			t.Errorf("%s has no fixture", name)
		}
	}
}

// An output that was cut is refused, or has the figures of the whole one: never others.
func TestCutOutputsAreNotMisread(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	refused, same := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		text := fixture(t, name)
		whole, err := Find(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := whole.Read(text)
		if err != nil {
			continue
		}
		for i := range len(text) {
			if i%max(1, len(text)/100) != 0 && text[i] != '\n' { // everywhere, and after each line
				continue
			}
			cut := text[:i]
			r, err := Find(cut)
			if err != nil {
				refused++
				continue
			}
			said, err := r.Read(cut)
			if err != nil {
				refused++
				continue
			}
			if whole.Name == "jmeter" { // rows are samples: fewer rows are a shorter run
				continue
			}
			for figure, v := range said.Figures {
				if want.Figures[figure] != v {
					t.Errorf("%s, cut after %d of %d bytes: %s is %v, of the whole %v", name, i, len(text), figure, v, want.Figures[figure])
				}
			}
			same++
		}
	}
	t.Logf("%d cut outputs refused, %d read as the whole", refused, same)
	if refused < 1000 {
		t.Errorf("only %d cut outputs were refused", refused)
	}
}

func TestUnknownOutputs(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                    "",
		"another tool":               "Requests: 500\np99: 1.2ms\n",
		"wrk without its table":      "Running 10s test @ http://127.0.0.1:8080/\n  100 requests in 10.00s\n",
		"the names of generators":    "wrk hey vegeta ab\n",
		"a table of JMeter, renamed": "timeStamp,elapsed\n1,2\n",
	} {
		if r, err := Find(text); err == nil || !strings.Contains(err.Error(), "--read") || !strings.Contains(err.Error(), "bombardier") {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	for name, change := range map[string][2]string{
		"wrk.freeze": {"1.55ms", "-nan"}, "hey.freeze": {"0.9047", "0,9047"}, "vegeta.freeze": {`"requests":5000`, `"requests":4000`}, "k6.freeze": {"med=1.22ms", "med=1.22"},
	} {
		text := strings.Replace(fixture(t, name), change[0], change[1], 1)
		r, err := Find(text)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := r.Read(text); err == nil || !strings.HasPrefix(err.Error(), r.Name+": ") {
			t.Errorf("%s with %s: %v, %v", name, change[1], said, err)
		}
	}
}

func TestRules(t *testing.T) {
	const text = "done 1,234 ok 12 bad, 3 late\np99 1.5s 1500 us\nold p50=7 p50=7\nagain p90=7 p90=8\nwarning: late\n"
	for _, c := range []struct {
		rules []string
		want  figuresOf
		fault string
	}{
		{[]string{`answered=done ([\d,]+) ok`, `answered-=(\d+) late`}, figuresOf{Answered: 1231}, ""},
		{[]string{`errors+=(\d+) bad`, `errors+=(\d+) late`, `errors+=(\d+) none`}, figuresOf{Errors: 15}, ""},
		{[]string{`dropped+=(\d+) none`}, figuresOf{Dropped: 0}, ""},
		{[]string{`p99=p99 (\S+):time`, `max=(\d+) us:us`}, figuresOf{P99: 1500, Max: 1.5}, ""},
		{[]string{`p50=p50=(\d):s`}, figuresOf{P50: 7000}, ""},
		{[]string{`p90=p90=(\d):s`}, nil, `different values, "7" and "8"`},
		{[]string{`p99=nowhere (\S+):time`}, figuresOf{}, ""},
		{[]string{`answered=nowhere (\d+)`}, nil, "not whole"},
		{[]string{`errors=(\d) late`, `errors-=(\d+) bad`}, nil, "less is counted than is subtracted"},
		{[]string{`p99=p99 (\S+):ms`}, nil, `"1.5s" is not a number`},
		{[]string{`words+=(warning.*)`, `rate=done ([\d,]+)`}, figuresOf{Rate: 1234}, ""},
	} {
		r, faults := Custom(c.rules)
		if faults != nil {
			t.Errorf("%v: %v", c.rules, faults)
			continue
		}
		said, err := r.Read(text)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v: %v, %v, want %q", c.rules, said, err, c.fault)
			}
			continue
		}
		if err != nil || !maps.Equal(said.Figures, c.want) {
			t.Errorf("%v: %v, %v, want %v", c.rules, said.Figures, err, c.want)
		}
	}
}

func TestRulesWithFaults(t *testing.T) {
	for rule, want := range map[string]string{
		"":                   "write NAME=REGEX:UNIT",
		"p99":                "write NAME=REGEX:UNIT",
		"p95=(x):ms":         `unknown figure "p95"; use one of answered`,
		"p99=(x)":            "a latency needs a unit",
		"p99=(x):m":          "a latency needs a unit",
		"p99=x:ms":           "has 0 groups",
		"p99=(x)(y):ms":      "has 2 groups",
		"p99=(x:ms":          "not a regular expression",
		"answered=(\\d+):ms": `it has no unit "ms"`,
		"words-=(x)":         "is a text",
		"*=(x)":              "unknown figure",
	} {
		if _, err := ParseRule(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", rule, err, want)
		}
	}
	for _, rule := range []string{`answered=ok: (\d+)`, `errors+="codes": \{([^}]*)\}:counts`, `version=^v: (\S+)`, `rate=(\S+)/s:n`} {
		if _, err := ParseRule(rule); err != nil {
			t.Errorf("%q: %v", rule, err)
		}
	}
}

// What programs print as their version. "": none, and takt looks into the program.
func TestAskedVersions(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"bombardier", "bombardier version v1.2.6 linux/amd64\n", "1.2.6"},
		{"bombardier", "bombardier version unspecified linux/amd64\n", ""}, // by go install
		{"jmeter", "WARN StatusConsoleListener 2.0\n |_| |_____| |_| |_____|_| \\_\\ 5.6.3\n\nCopyright (c) 1999-2024 The Apache Software Foundation\n\n", "5.6.3"},
		{"vegeta", "Version: \nCommit: \nRuntime: go1.26.8 linux/amd64\nDate: \n", ""},
		{"wrk", "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\n", "debian/4.1.0-3+b2"},
	} {
		i := slices.IndexFunc(table(), func(r *Reader) bool { return r.Name == c.name && r.Ask != nil })
		got := ""
		if m := table()[i].Asked.FindStringSubmatch(c.text); m != nil {
			got = m[1]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q in %q", c.name, got, c.want, c.text)
		}
	}
}

func FuzzReaders(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range table() {
			said, err := r.Read(text)
			for name, v := range said.Figures {
				if err != nil || math.IsNaN(v) || v < 0 || math.IsInf(v, 0) || !slices.Contains(Names(), name) {
					t.Errorf("%s: %s is %v, %v", r.Name, name, v, err)
				}
			}
		}
	})
}
