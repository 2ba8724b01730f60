package produce

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/engine"
)

// The seed's flags have its names and defaults.
func TestSeedFlags(t *testing.T) {
	o := New()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	defaults := map[string]string{
		"brokers": "localhost:9092", "topic": "sangrenel", "message-size": "300", "message-batch-size": "1",
		"produce-rate": "100000000", "compression": "none", "required-acks": "local", "workers": "1",
		"writers-per-worker": "5", "noop": "false", "interval": "5", "api-version": "", "tls": "false",
		"tls-ca-cert": "", "tls-cert-file": "", "tls-key-file": "", "tls-insecure-skip-verify": "false",
		"graphite-ip": "", "graphite-port": "", "graphite-metrics-prefix": hostname(), "max-open-requests": "5",
		"emit-errors": "false", "messages-data": "", "data": "",
	}
	for _, name := range SeedFlags() {
		want, known := defaults[name]
		if f := fs.Lookup(name); !known || f == nil || f.DefValue != want {
			t.Errorf("-%s: %+v, want the default %q", name, f, want)
		}
	}
	if len(SeedFlags()) != len(defaults) {
		t.Errorf("%d flags have one dash, want %d", len(SeedFlags()), len(defaults))
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // of one of the faults
	}{
		{"--message-size -1", `"-1" is not a size`},
		{"--message-size 5..1", "smaller size first"},
		{"--message-size lognormal:5", "bad --message-size"},
		{"--message-size 1..5 --data x", "is a distribution of random messages"},
		{"--tombstones 5%", "without --key"},
		{"--tombstones 101% --key k", "at most 100%"},
		{"--key {{zipf}}", "write {{zipf 1000}}"},
		{"--message-batch-size 0", "--message-batch-size is 0"},
		{"--workers 0", "--workers is 0"},
		{"--writers-per-worker 0", "--writers-per-worker is 0"},
		{"--timeout 0", "--timeout must be above 0"},
		{"--compression brotli", `"brotli" is unknown; use none, gzip, snappy, lz4 or zstd`},
		{"--required-acks 2", `"2" is unknown`},
		{"--client own", `"own" is unknown`},
		{"--brokers localhost", `"localhost" is not an address with a port`},
		{"--brokers localhost:", `"localhost:" has a port that is not from`},
		{"--brokers localhost:99999", `"localhost:99999" has a port that is not from`},
		{"--topic=", "--topic is empty"},
		{"--api-version 7", `unknown --api-version "7"`},
		{"--data no-such-file", "check --data"},
		{"--data x --messages-data y", "both --messages-data and --data"},
		{"--key {{nothing}}", "--key"},
		{"--idempotence", "need --required-acks all"},
		{"--transactions 5 --required-acks all --client sarama", "--client franz only"},
		{"--tls-insecure-skip-verify", "without --tls"},
		{"--tls --tls-ca-cert no-such-file", "check --tls-ca-cert"},
		{"--tls --tls-key-file x", "without --tls-cert-file"},
		{"--sasl ntlm --sasl-user u", `"ntlm" is unknown`},
		{"--sasl plain", "without --sasl-user"},
		{"--sasl plain --sasl-user u", "without a password"},
		{"--sasl-user u", "without --sasl;"},
		{"--sasl plain --sasl-user u --sasl-password p --sasl-password-file f", "keep one"},
		{"--graphite-ip 127.0.0.1", "go together"},
		{"host:9092", `unexpected argument "host:9092"`},
	} {
		o := New()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		refused := fs.Parse(strings.Fields(c.args))
		e := engine.Defaults()
		o.Shape(&e)
		faults := o.Validate(fs.Args())
		if refused != nil {
			faults = []error{refused}
		}
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, faults, c.want)
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	o := New()
	o.Topic, o.Workers, o.Brokers = "", 0, "x"
	if faults := o.Validate([]string{"x"}); len(faults) != 4 {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
}

func TestVariables(t *testing.T) {
	o := New()
	o.SASL = cluster.SASL{Mechanism: cluster.SASLPlain, User: "u", Password: "secret"}
	o.Shape(new(engine.Options))
	if faults := o.Validate(nil); len(faults) > 0 {
		t.Fatal(faults)
	}
	for name, want := range map[string]any{
		"client": "takt", "topic": "sangrenel", "acks": "local", "linger_s": 0.0, "batch_records": 1, "compression": "none",
		"workers": 1, "writers_per_worker": 5, "message_bytes": 300, "sasl": "plain", "stamps": true,
	} {
		if got := o.Variables()[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name, v := range o.Variables() {
		if v == "secret" {
			t.Errorf("%s shows the password", name)
		}
	}
}

// Without a broker the report names none, and where takt chooses the writers it does not name another number.
func TestVariablesOfWhatIsNotAsked(t *testing.T) {
	o := New()
	o.Noop = true
	if _, named := o.Variables()["brokers"]; named {
		t.Error("--noop names brokers")
	}
	o = New()
	o.Linger = 5 * time.Millisecond
	o.Shape(&engine.Options{Rate: engine.MustRate("100/s")})
	if v := o.Variables()["writers_per_worker"]; v != "auto" || o.writersOf(3) != 15 {
		t.Errorf("%v writers, %d of 3 partitions", v, o.writersOf(3))
	}
}

// A linger without a unit could be seconds or, as in Java, milliseconds.
func TestLingerHasAUnit(t *testing.T) {
	for text, want := range map[string]time.Duration{"5ms": 5 * time.Millisecond, "0": 0, "1s": time.Second, "5": -1, "0.5": -1, "1e2": -1, "x": -1} {
		o := New()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		if err := fs.Set("linger", text); (err != nil) != (want < 0) || err == nil && o.Linger != want {
			t.Errorf("%s: %v, %v", text, o.Linger, err)
		}
	}
}
