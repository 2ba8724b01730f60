package target

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestValidateReportsEveryFault(t *testing.T) {
	o := Options{
		Addr: "nowhere", Service: "soon", Servers: -1, Freeze: "10s/1s", Size: new(65 << 20),
		Status: 100, ErrorRate: 1.01, ResetRate: -1, HalfOpenRate: math.NaN(),
	}
	faults := o.Validate()
	for i, flag := range []string{"addr", "service", "servers", "freeze", "size", "status", "error-rate", "reset-rate", "half-open-rate"} {
		if i >= len(faults) {
			t.Fatalf("%d faults: %v", len(faults), faults)
		}
		if text := faults[i].Error(); !strings.HasPrefix(text, "--"+flag+": ") || !strings.Contains(text, "; write ") {
			t.Errorf("fault %d: %q; want --%s and a hint", i, text, flag)
		}
	}
	if _, err := Listen(o); err == nil {
		t.Error("Listen took faulty options")
	}
	if faults := (Options{ErrorRate: 0.6, ResetRate: 0.5}).Validate(); len(faults) != 1 {
		t.Errorf("110 %% failures: %v", faults)
	}
}

// The flags' defaults and empty options are the same server.
func TestDefaults(t *testing.T) {
	var o Options
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(nil); err != nil {
		t.Fatal(err)
	}
	a, faults := o.settings()
	b, more := Options{Seed: 1}.settings()
	if len(faults)+len(more) > 0 {
		t.Fatal(faults, more)
	}
	if a.addr != b.addr || string(a.answers.ok[0]) != string(b.answers.ok[0]) || a.freeze != b.freeze {
		t.Errorf("flags %v, empty %v", a, b)
	}
}

func TestBounds(t *testing.T) {
	for n, good := range map[int]bool{-1: false, 0: true, 64 << 20: true, 64<<20 + 1: false} {
		if err := checkSize(n); (err == nil) != good {
			t.Errorf("size %d: %v", n, err)
		}
	}
	for x, good := range map[float64]bool{-0.1: false, 0: true, 1: true, 1.1: false} {
		if err := checkShare(x); (err == nil) != good {
			t.Errorf("share %v: %v", x, err)
		}
	}
}

// A share of the requests is slow, and the first ones are slower: the others are as without.
func TestSlow(t *testing.T) {
	plain, _ := Options{Seed: 5, Service: "exp(1ms)"}.settings()
	some, faults := Options{Seed: 5, Service: "exp(1ms)", Slow: "2%/80ms", SlowStart: "200ms/2s"}.settings()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	slow := 0
	for i := range 10_000 {
		a, b := plain.services.next(0), some.services.next(2*time.Second)
		if b == 80*ms {
			slow++
		} else if a != b {
			t.Fatalf("request %d takes %v instead of %v", i, b, a)
		}
	}
	if slow < 150 || slow > 250 {
		t.Errorf("%d of 10000 requests are slow", slow)
	}
	for at, want := range map[time.Duration]time.Duration{0: 200 * ms, 500 * ms: 150 * ms, 2 * time.Second: 0, time.Hour: 0} {
		if got := some.services.slowStart.at(at); got != want {
			t.Errorf("at %v longer by %v, want %v", at, got, want)
		}
	}
	for _, bad := range []string{"2%", "80ms", "2%/", "/80ms", "101%/1ms", "-1%/1ms", "2%/-1ms", "2%/2h"} {
		if _, err := parseSlow(bad); err == nil {
			t.Errorf("slow %q was accepted", bad)
		}
	}
	for _, bad := range []string{"2s", "200ms/", "/2s", "200ms/0", "-1s/2s", "1s/-2s"} {
		if _, err := parseDecline(bad); err == nil {
			t.Errorf("slow start %q was accepted", bad)
		}
	}
}

func TestParsers(t *testing.T) {
	for s, good := range map[string]bool{"": true, "0": true, "1s/10s": true, "1s": false, "1s/1s": false, "0/1s": false, "1us/1s": false, "1s/1.001s": false, "1h/25h": false} {
		if _, err := parseFreeze(s); (err == nil) != good {
			t.Errorf("freeze %q: %v", s, err)
		}
	}
}

// A seed names the same requests whatever else fails.
func TestSeed(t *testing.T) {
	draw := func(o Options) (ds []time.Duration, fs []Outcome) {
		s, _ := o.settings()
		for range 1000 {
			ds, fs = append(ds, s.services.next(0)), append(fs, s.fates.draw())
		}
		return ds, fs
	}
	a, fa := draw(Options{Seed: 5, Service: "exp(1ms)", ErrorRate: 0.1})
	b, fb := draw(Options{Seed: 5, Service: "exp(1ms)", ErrorRate: 0.2})
	c, _ := draw(Options{Seed: 6, Service: "exp(1ms)"})
	for i := range a {
		if a[i] != b[i] || fa[i] == Error && fb[i] != Error {
			t.Fatalf("request %d differs: %v %v, %v %v", i, a[i], fa[i], b[i], fb[i])
		}
	}
	if a[0] == c[0] && a[1] == c[1] {
		t.Error("two seeds draw the same")
	}
}
