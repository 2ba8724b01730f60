package cli

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
)

const nowhere = "http://127.0.0.1:1/"

// callWith runs takt in this process with an environment of its own.
func callWith(t *testing.T, environ []string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(core.Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Interrupt: t.Context(),
		Environ: func() []string { return environ },
		Getenv: func(name string) string {
			for _, v := range environ {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		},
	}, args)
	return code, out.String(), errs.String()
}

// configOf is what takt config says of takt http: the lines that are not of a default.
func configOf(t *testing.T, environ []string, file string, args ...string) string {
	t.Helper()
	args = append(append([]string{"config", "http", "--config", "-"}, args...), nowhere)
	code, out, errs := callWith(t, environ, file, args...)
	if code != core.ExitOK || errs != "" {
		t.Fatalf("%v %q: exit code %d, %s", environ, file, code, errs)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(s string) bool { return strings.HasSuffix(s, "# default") })
	return strings.Join(lines, "\n")
}

// Command line before environment before file, a repeatable flag as a whole.
func TestPrecedence(t *testing.T) {
	const all = "rate = 1/s\nlabel = a=1\nlabel = b=2\ninsecure"
	for _, c := range []struct {
		environ    []string
		file, args string
		want       string
	}{
		{nil, "", "", ""},
		{nil, all, "", "insecure = true  # file stdin:4\nlabel = a=1  # file stdin:2\nlabel = b=2  # file stdin:3\nrate = 1/s  # file stdin:1"},
		{[]string{"TAKT_RATE=2/s", "TAKT_LABEL=c=3", "TAKT_INSECURE=false"}, all, "",
			"insecure = false  # environment\nlabel = c=3  # environment\nrate = 2/s  # environment"},
		{[]string{"TAKT_RATE=2/s", "TAKT_LABEL=c=3", "TAKT_INSECURE=0"}, all, "--rate 3/s --rate 4/s --label d=4 --label e=5 --insecure",
			"insecure = true  # flag\nlabel = d=4  # flag\nlabel = e=5  # flag\nrate = 4/s  # flag"},
		{[]string{"TAKT_MAX_IN_FLIGHT=7"}, "", "", "max-in-flight = 7  # environment"},
		{[]string{"TAKT_RATE="}, "rate = 1/s", "", "rate = 1/s  # file stdin:1"}, // empty is not set
		{nil, "rate = 1/s", "--rate=", `rate = ""  # flag`},
		{nil, "rate = 1/s\nlabel=a=1\n[target]\nservice = 1ms\nseed = 3\n[http]\nrate = 2/s\nlabel=b=2", "",
			"label = a=1  # file stdin:2\nlabel = b=2  # file stdin:8\nrate = 2/s  # file stdin:7"},
		{nil, "service = 1ms\nfreeze = 1s/10s", "", ""}, // of takt target
		{nil, "auth = ann:tiger", "-H A:tiger", "; auth = xxxxx  # file stdin:1; a secret, set it again\n; header = xxxxx  # flag; a secret, set it again"},
		{nil, "proxy = localhost:3128", "", "proxy = localhost:3128  # file stdin:1"},
		{nil, "proxy = http://ann@localhost:3128", "", "; proxy = xxxxx  # file stdin:1; a secret, set it again"},
		{nil, "proxy = http://ann:tiger@localhost:3128", "", "; proxy = xxxxx  # file stdin:1; a secret, set it again"},
		{nil, `label = "a= # \n"`, "--label b=", `label = b=  # flag`},
		{nil, `label = "a= # \n"`, "", `label = "a= # \n"  # file stdin:1`},
	} {
		if got := configOf(t, c.environ, c.file, strings.Fields(c.args)...); got != c.want {
			t.Errorf("%v %q %s\ngot  %s\nwant %s", c.environ, c.file, c.args, got, c.want)
		}
	}
}

// What is wrong is said at once, with where it stands.
func TestSettingFaults(t *testing.T) {
	for _, c := range []struct {
		environ    []string
		file, args string
		want       []string // the beginnings of the lines on stderr
	}{
		{[]string{"TAKT_RATE=5/q"}, "", "", []string{`takt: bad TAKT_RATE: rate "5/q": unknown unit`}},
		{nil, "\nrate = 5/q", "", []string{`takt: stdin:2: bad rate: rate "5/q": unknown unit`}},
		{[]string{"TAKT_RATE=5/q"}, "rate = 5/r", "--rate 5/x", []string{`takt: bad --rate: rate "5/x": unknown unit`}},
		{[]string{"TAKT_WARMUP=soon", "TAKT_REPEAT=x", "TAKT_INSECURE=perhaps"}, "", "--repeat 5", []string{
			`takt: bad TAKT_WARMUP: duration "soon": `,
			`takt: bad TAKT_INSECURE: "perhaps" is not true or false`,
		}},
		{[]string{"TAKT_REPEAT=x"}, "", "", []string{`takt: bad TAKT_REPEAT: "x" is not a whole number`}}, // and not: --repeat is 0
		{[]string{"TAKT_REPEAT=0"}, "", "", []string{`takt: bad TAKT_REPEAT: --repeat is 0; `}},
		{[]string{"TAKT_SHARD=9/2"}, "", "", []string{`takt: bad TAKT_SHARD: "9/2" is not a shard; use k/n`}},
		{nil, "assert = p98<1ms", "", []string{`takt: stdin:1: bad assert: assertion "p98<1ms": unknown metric`}},
		{[]string{"TAKT_BODY={{nothing}}"}, "user-agent = {{nothing}}", "", []string{`takt: stdin:1: bad user-agent: header User-Agent: `, `takt: bad TAKT_BODY: body: `}},
		{[]string{"TAKT_TARGETS=-"}, "", "", []string{"takt: --config and --targets read standard input, which can be read once; give all but one a file (targets: TAKT_TARGETS)"}},
		{[]string{"TAKT_AUTH_FILE=missing"}, "", "", []string{"takt: bad TAKT_AUTH_FILE: cannot read the credentials: "}},
		// a value that looks like a flag is not the flag
		{[]string{"TAKT_RATE=5/s"}, "assert = p50<1s\nassert = --rate 5/s", "", []string{`takt: stdin:2: bad assert: assertion "--rate 5/s" is not of the form`}},
		{[]string{"TAKT_RATE=5/s"}, "", "--assert 5/s", []string{`takt: assertion "5/s" is not of the form`}},
		{nil, "output = xml=-", "", []string{`takt: stdin:1: bad output: unknown format "xml"`}},
		{nil, "stages = 30s", "", []string{`takt: stdin:1: bad stages: stage 1: `}},
		{nil, "body-file = missing", "", []string{`takt: stdin:1: bad body-file: cannot read the body: `}},
		{[]string{"TAKT_BODY=x"}, "", "-D /dev/null", []string{`takt: both -d and -D are given; `}},
		{[]string{"TAKT_RATE=5/s"}, "stages = 1s@5/s", "", []string{`takt: both --rate and --stages are given; `}},
		{nil, "raet = 5\nn = 5\n--rate = 5\nmax_in_flight = 5\nfrobnicate = 5\nconfig = x", "", []string{
			"takt: stdin:1: unknown setting raet; did you mean rate?",
			"takt: stdin:2: unknown setting n; did you mean requests?",
			"takt: stdin:3: unknown setting --rate; did you mean rate?",
			"takt: stdin:4: unknown setting max_in_flight; did you mean max-in-flight?",
			"takt: stdin:5: unknown setting frobnicate; settings have the long names of flags, which --help-all lists",
			"takt: stdin:6: config cannot be in a config file; give it on the command line",
		}},
		{nil, "[htpp]\nrat = 5\n[http]\nservice = 1ms\n[target]\nfreeze = 5\nrate = 5\n[x-y-z]", "", []string{
			"takt: stdin:1: unknown section htpp; did you mean http?",
			"takt: stdin:4: service is a setting of takt target, not of takt http; put it above all sections or below [target]",
			"takt: stdin:7: rate is a setting of takt apm, not of takt target; ",
			"takt: stdin:8: unknown section x-y-z; use one of apm, capacity, collate, compare, ",
		}},
		{nil, "rate = 5/s\nlabel = a=1\nrate = 6/s\ntimeout\n[http]\nrate = 7/s", "", []string{
			"takt: stdin:3: rate is in line 1 already; keep one",
			"takt: stdin:4: timeout has no value; write timeout = VALUE",
		}},
		{[]string{"TAKT_HEADER=Bearer tiger"}, "", "", []string{`takt: bad TAKT_HEADER: not a header`}},
		{nil, `header = "a \"tiger\""`, "", []string{`takt: stdin:1: bad header: not a header`}},
		{nil, "", "-D -", []string{"takt: --config and -D read standard input, which can be read once; give all but one a file"}},
		{nil, "", "-D - --targets - --repeat 2", []string{
			"takt: --config and -D and --targets read standard input, ",
			"takt: --repeat is 2, but only the first run would find data in standard input; give --targets a file",
		}},
		{nil, "header\nrate", "", []string{"takt: stdin:1: header has no value", "takt: stdin:2: rate has no value"}},
	} {
		for _, command := range [][]string{{"http"}, {"config", "http"}} {
			args := append(append(command, "--config", "-"), strings.Fields(c.args)...)
			code, _, errs := callWith(t, c.environ, c.file, append(args, nowhere)...)
			lines := strings.Split(strings.TrimSpace(errs), "\n")
			lines = lines[:len(lines)-1] // see 'takt http --help'
			if code != core.ExitUsage || !slices.EqualFunc(lines, c.want, strings.HasPrefix) || strings.Contains(errs, "tiger") {
				t.Errorf("%v %q %s: exit code %d\ngot  %s\nwant %s…", c.environ, c.file, c.args, code, strings.Join(lines, "\n     "), strings.Join(c.want, "…\n     "))
			}
		}
	}
}

// The file: named by the flag, else by the environment; it must be readable.
func TestConfigPath(t *testing.T) {
	good := filepath.Join(t.TempDir(), "takt.conf")
	if err := os.WriteFile(good, []byte("service = 9x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environ []string
		args    []string
		code    int
		says    string
	}{
		{nil, nil, core.ExitOK, ""},
		{[]string{"TAKT_CONFIG=" + good}, nil, core.ExitUsage, "takt: " + good + ":1: bad service: "},
		{[]string{"TAKT_CONFIG=" + good}, []string{"--config", "-"}, core.ExitOK, ""},
		{[]string{"TAKT_CONFIG=" + good}, []string{"--config="}, core.ExitOK, ""},
		{[]string{"TAKT_CONFIG=/no/such"}, nil, core.ExitUsage, "takt: cannot read the settings: open /no/such: no such file or directory; check TAKT_CONFIG\n"},
		{nil, []string{"--config", "/no/such"}, core.ExitUsage, "takt: cannot read the settings: open /no/such: no such file or directory; check --config\n"},
	} {
		code, _, errs := callWith(t, c.environ, "seed = 3", append([]string{"config", "target"}, c.args...)...)
		if code != c.code || !strings.HasPrefix(errs, c.says) || c.says == "" && errs != "" {
			t.Errorf("%v %v: exit code %d, %s, want %d, %s", c.environ, c.args, code, errs, c.code, c.says)
		}
	}
}

// Variables that are nearly a setting's are warned of, those of others are not.
func TestNearMisses(t *testing.T) {
	silent := []string{
		"TAKT_TIMING=1", "TAKT_STORE=x", "TAKT_CACHE=x", "TAKT_NGINX=x", "TAKT_HOME=x", "TAKT_HDRHISTOGRAM_JAR=x",
		"TAKT_RATE=5/s", "TAKT_CONFIG=", "TAKT_RATES=", "TAKT_=1", "TAKT=1", "RATES=1", "PATH=/bin", "TAKT_SERVICE=1ms",
	}
	loud := []string{"TAKT_RATES=5", "TAKT_RAET=5", "TAKT_DURATOIN=5s", "takt_rate=5", "TAKT_MAX-IN-FLIGHT=5", "TAKT_CONFG=x", "TAKT_SERVCE=1ms"}
	code, _, errs := callWith(t, append(silent, loud...), "", "config", "http", nowhere)
	want := `takt: warning: TAKT_RATES is not a setting, so takt ignores it; did you mean TAKT_RATE?
takt: warning: TAKT_RAET is not a setting, so takt ignores it; did you mean TAKT_RATE?
takt: warning: TAKT_DURATOIN is not a setting, so takt ignores it; did you mean TAKT_DURATION?
takt: warning: takt_rate is not a setting, so takt ignores it; did you mean TAKT_RATE?
takt: warning: TAKT_MAX-IN-FLIGHT is not a setting, so takt ignores it; did you mean TAKT_MAX_IN_FLIGHT?
takt: warning: TAKT_CONFG is not a setting, so takt ignores it; did you mean TAKT_CONFIG?
takt: warning: TAKT_SERVCE is not a setting, so takt ignores it; did you mean TAKT_SERVICE?
`
	if code != core.ExitOK || errs != want {
		t.Errorf("exit code %d\n%s\nwant\n%s", code, errs, want)
	}
	if _, _, errs = callWith(t, loud, "", "version"); errs != "" {
		t.Errorf("a command without settings says %s", errs)
	}
}

// The default of every flag of every command can be written and is read again as
// the same, as takt config promises.
func TestDefaultsReadBack(t *testing.T) {
	env := core.Env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	for command, flags := range (core.CommandFlags{}).Collect(newRoot(env)) {
		flags.VisitAll(func(f *pflag.Flag) {
			text := f.Value.String()
			if !core.IsSetting(f) || text == "" {
				return
			}
			lines, faults := core.ParseConfig("f", f.Name+" = "+core.FormatValue(text))
			if faults != nil || lines[0].Value != text {
				t.Errorf("takt %s --%s: %q is written and read as %+v, %v", command, f.Name, text, lines, faults)
			}
			if err := f.Value.Set(text); err != nil || f.Value.String() != text {
				t.Errorf("takt %s --%s does not take its own default %q: it becomes %q, %v", command, f.Name, text, f.Value.String(), err)
			}
		})
	}
}

// Credentials of the environment are sent, and shown nowhere.
func TestSecretOfEnvironment(t *testing.T) {
	var user, password string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		http.Error(w, user+":"+password+" is not let in", http.StatusUnauthorized)
	}))
	defer server.Close()
	code, out, errs := callWith(t, []string{"TAKT_AUTH=ann:tiger"}, "", "http", "-n", "1", "-c", "1", "-o", "json", server.URL)
	if code != core.ExitFailed || user != "ann" || password != "tiger" {
		t.Errorf("exit code %d, %s:%s was sent: %s", code, user, password, errs)
	}
	if strings.Contains(out+errs, "tiger") || !strings.Contains(out, "is not let in") {
		t.Errorf("%s%s", out, errs)
	}
}

// takt config … > f; takt config --config f … gives the same values.
func TestRoundTrip(t *testing.T) {
	for _, args := range [][]string{
		{"http", nowhere},
		{"http", "--rate", "5/s", "-z", "3", nowhere},
		{"http", "--stages", "30s@5/s", "--start-at", "1780000000", "--drain", "5", nowhere},
		{"http", "-n", "9", "-m", "POST", "-d", "{\"a\": \"b # c\"}\n", "--label", "a= x ", "--label", "b=\"", "--assert", "p99<1s", "--assert", "ok>1", "-disable-keepalive", nowhere},
		{"target"},
		{"target", "--service", "exp(2ms)", "--size", "1KiB", "--error-rate", "1%"},
	} {
		code, first, errs := callWith(t, nil, "", append([]string{"config"}, args...)...)
		if code != core.ExitOK {
			t.Fatalf("%v: %s", args, errs)
		}
		code, second, errs := callWith(t, nil, first, "config", args[0], "--config", "-", args[len(args)-1])
		if args[0] == "target" {
			code, second, errs = callWith(t, nil, first, "config", args[0], "--config", "-")
		}
		if code != core.ExitOK || values(first) != values(second) || !strings.Contains(second, "  # file stdin:") {
			t.Errorf("%v: exit code %d %s\n%s\nbecomes\n%s", args, code, errs, first, second)
		}
	}
}

// values are the lines of takt config without their origins.
func values(config string) string {
	var b strings.Builder
	for _, line := range strings.Split(config, "\n") {
		b.WriteString(line[:max(0, strings.LastIndex(line, "  # "))] + "\n")
	}
	return b.String()
}

func TestConfigJSON(t *testing.T) {
	code, out, errs := callWith(t, []string{"TAKT_AUTH=ann:tiger"}, "label = a=1\ntimeout = 7s", "config", "--json", "http", nowhere, "--config", "-")
	for _, want := range []string{
		`{"command":"http","settings":[`,
		`{"name":"auth","value":"xxxxx","origin":"environment","at":"TAKT_AUTH","secret":true}`,
		`{"name":"label","value":"a=1","origin":"file","at":"stdin:1"}`,
		`{"name":"requests","value":"200","origin":"default"}`,
		`{"name":"drain","value":"7s","origin":"default"}`, // as the timeout
	} {
		if flat := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(out); code != core.ExitOK || !strings.Contains(flat, want) {
			t.Errorf("exit code %d, %s, no %s in %s", code, errs, want, flat)
		}
	}
}

func TestConfigUsage(t *testing.T) {
	names := map[string]bool{"server": true, "target": true}
	for _, row := range driver.Table() {
		names[cmp.Or(row.Group, strings.Fields(row.Use)[0])] = true
	}
	known := strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	for args, want := range map[string]string{
		"config":              "takt: no command is given; use one of " + known,
		"config --json":       "takt: no command is given; use one of " + known,
		"config htpp":         `takt: unknown command "htpp"; did you mean takt config http?`,
		"config version":      `takt: unknown command "version"; use one of ` + known,
		"config --jsn http":   "takt: unknown flag --jsn; did you mean --json?",
		"config --json htpp":  `takt: unknown command "htpp"; did you mean takt config http?`,
		"config http":         "takt: no url is given; ",
		"config target x":     `takt: "takt config target" takes no arguments but got ["x"]`,
		"config http --jso x": "takt: unknown flag --jso; did you mean --json?",
		"http --json x":       "takt: unknown flag --json; ",
	} {
		code, out, errs := callWith(t, nil, "", strings.Fields(args)...)
		if code != core.ExitUsage || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: exit code %d, %s%s, want %s", args, code, out, errs, want)
		}
	}
}
