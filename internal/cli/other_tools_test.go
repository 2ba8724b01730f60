package cli

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/test/pages"
	"github.com/taktload/takt/internal/value"
)

// What users of other load generators type first: takt says the cause and the remedy, in one fault.
func TestFirstMistakes(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := closed.Addr().String()
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for line, want := range map[string]string{
		"http -d 10s URL":                          `-d "10s" is the body of a GET; write -z 10s for the duration`,
		"http -t4 -c100 -d30s URL":                 `-d "30s" is the body of a GET; write -z 30s for the duration`,
		"kafka produce --num-records 10 --topic t": "unknown flag --num-records; the number of records is -n N",
		"kafka consume --from-beginning":           "unknown flag --from-beginning; takt kafka consume reads from the beginning",
		"http --vus 10 --duration 1s URL":          "unknown flag --vus; k6's virtual users are connections: write -c N",
		"http -qps 100 -c 4 -t 1s URL":             "unknown flag -qps; the rate is -q N",
		"http -qps=100 URL":                        "unknown flag -qps; the rate is -q N",
		"http -R 100 -c 10 URL":                    "unknown flag -R; wrk2's rate is --rate N/s, of all connections together",
		"http -t2 -c100 -R2000 URL":                "unknown flag -R; wrk2's rate is --rate N/s, of all connections together",
		"http --rps 100 URL":                       "unknown flag --rps; the rate is -q N",
		"http --latency -c 2 URL":                  "unknown flag --latency; takt always shows latencies",
		"http -k -n 5 URL":                         "unknown flag -k; takt keeps connections alive, as ab -k does",
		"http -p body.json -n 5 URL":               "unknown flag -p; a body from a file is -D FILE",
		"http -X POST URL":                         "unknown flag -X; the method is -m METHOD",
		"http --data x URL":                        "unknown flag --data; the body is -d BODY",
		"http -s script.lua URL":                   "unknown flag -s; takt runs no scripts",
		"http --no-tui -n 5 URL":                   "unknown flag --no-tui; takt prints a line a second",
		"http --json URL":                          "unknown flag --json; the report as JSON is -o json=FILE",
		"http --frobnicate 8 -n 5 URL":             "unknown flag --frobnicate; the flags are listed by --help-all",
		"http -z 1x URL":                           `duration "1x": not a duration`,
		"http -z 30ss URL":                         `duration "30ss": not a duration`,
		"http --rate 100rps URL":                   `rate "100rps": not a number; give a rate such as 500/s`,
		"http -c 100k URL":                         `"100k" is not a whole number that fits; write all its digits`,
		"http --duration URL":                      `flag --duration needs a value before "URL"`,
		"http -n URL":                              `flag -n needs a value before "URL"`,
		"http -u URL -z 1":                         "is the last argument, without a flag",
		"http script.js":                           "script.js is a k6 script; takt runs no scripts",
		"http scripts/a.test.js URL":               "2 arguments where one url is expected",
		"http example.com/a.js":                    "did you mean http://example.com/a.js?",
		"s.js":                                     "s.js is a k6 script; takt runs no scripts",
		"run ./s.js":                               "./s.js is a k6 script; takt runs no scripts",
		"replay plan.jmx URL":                      "plan.jmx is a JMeter test plan; takt reads no test plans for a run: takt scenario from FILE",
		"-n -t plan.jmx":                           "plan.jmx is a JMeter test plan; takt reads no test plans for a run: takt scenario from FILE",
		"http test.lua URL":                        "test.lua is a script of wrk; takt runs no scripts",
		"http --rate 100/s -q 10 URL":              "both --rate 100/s and -q 10 are given, and they are one flag; keep one: in takt -q is the rate of the whole run",
		"http -q 10 -c 5 --rate=100/s URL":         "both -q 10 and --rate 100/s are given",
		"http -c 5 --connections 6 URL":            "both -c 5 and --connections 6 are given, and they are one flag; keep one",
		"htp URL":                                  `unknown command "htp"; did you mean takt http?`,
		"attack -rate=100 -duration=1s":            `unknown command "attack"; did you mean takt http?`,
		"load -qps 100 -c 4 -t 1s URL":             `unknown command "load"; did you mean takt http?`,
		"example.com -n 5":                         `unknown command "example.com"; a `,
		"http --no-store -n 1 http://" + port:      "connection refused; nothing listens there: start the server, or correct the port",
		port + " --no-store -n 1":                  "connection refused; nothing listens there",
		"-n 1 --no-store " + port:                  "connection refused; nothing listens there",
		"http --no-store -n 1 https://PLAIN":       "does not look like a TLS handshake; the port speaks no TLS: write http://",
		"http --no-store -n 1 http://h.invalid:1":  "correct the host name",
	} {
		url := "http://127.0.0.1:8080/"
		address := strings.TrimPrefix(plain.URL, "http://")
		fill := strings.NewReplacer("URL", url, "PLAIN", address).Replace
		var out, errs bytes.Buffer
		code := Main(core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}, strings.Fields(fill(line)))
		faults := strings.Count(errs.String(), "takt: ")
		if code != core.ExitUsage && code != core.ExitFailed || !strings.Contains(errs.String(), fill(want)) || faults != 1 {
			t.Errorf("%s: exit code %d, %d faults:\n%swant %s", line, code, faults, errs.String(), want)
		}
	}
}

// docs/coming-from.md has a row for each file of another tool.
func TestOtherToolsFilesAreDocumented(t *testing.T) {
	page := pages.ComingFrom(t, "../..")
	for _, f := range driver.OtherToolsFiles() {
		if !strings.Contains(page, "`"+f.Ends+"`") {
			t.Errorf("docs/coming-from.md does not name %s, %s", f.Ends, f.Is)
		}
	}
}

// docs/coming-from.md says of each flag of a predecessor that means one of takt's which one that is.
func TestFormerFlagsAreDocumented(t *testing.T) {
	page := pages.ComingFrom(t, "../..")
	found := map[string]bool{}
	for _, row := range driver.Table() {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		row.New(strings.NewReader("")).AddFlags(fs)
		fs.VisitAll(func(f *pflag.Flag) {
			r, ok := value.FormerOf(f)
			if !ok {
				return
			}
			found[r.Name] = true
			_, section, _ := strings.Cut(page, "\n## "+r.Of+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			line := regexp.MustCompile("(?m)^\\|[^|]*`-{1,2}" + r.Name + "`[^|]*\\|[^|]*`--" + r.Flag + "\\b")
			if !line.MatchString(section) {
				t.Errorf("docs/coming-from.md, %s: no row has -%s, and --%s at its right", r.Of, r.Name, r.Flag)
			}
		})
	}
	if len(found) < 4 {
		t.Errorf("only %v are rows", found)
	}
}

// A predecessor's flag is the flag that it means: on the command line, in the environment and in a config file.
func TestFormerFlags(t *testing.T) {
	for line, want := range map[string]string{
		"kafka produce -produce-rate=20":                      "\nrate = 20/s  # ",
		"kafka produce -produce-rate=100000000":               "\n; rate =", // sangrenel's way to write no rate
		"kafka produce -produce-rate 20 --rate 30/s":          "both --produce-rate 20/s and --rate 30/s are given, and they are one flag; keep one",
		"kafka produce -produce-rate 0":                       `bad --produce-rate: rate "0/s"`,
		"kafka produce -produce-rate x":                       `bad --produce-rate: rate "x/s"`,
		"kafka produce TAKT_PRODUCE_RATE=20":                  "\nrate = 20/s  # ",
		"kafka produce TAKT_PRODUCE_RATE=20 --rate 30/s":      "\nrate = 30/s  # ",
		"kafka produce TAKT_PRODUCE_RATE=20 TAKT_RATE=30/s":   "\nrate = 30/s  # ",
		"kafka produce TAKT_PRODUCE_RATE=0":                   `TAKT_PRODUCE_RATE: rate "0/s"`,
		"apm -run 30s":                                        "\nduration = 30s  # ",
		"apm -run 30s -z 40s":                                 "both --run 30s and -z 40s are given, and they are one flag; keep one",
		"jms client --tx-size 5":                              "\ncommit-interval = 5  # ",
		"replay -host-header h.example - http://127.0.0.1:1/": "\nhost = h.example  # ",
	} {
		var out, errs bytes.Buffer
		args, env := []string{"config"}, map[string]string{}
		for word := range strings.FieldsSeq(line) {
			if name, text, ok := strings.Cut(word, "="); ok && strings.HasPrefix(name, "TAKT_") {
				env[name] = text
				continue
			}
			args = append(args, word)
		}
		Main(core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] }}, args)
		if got := out.String() + errs.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", line, got, want)
		}
	}
}
