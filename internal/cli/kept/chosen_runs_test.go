package kept

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// --since takes the place of a default -n; of two times that were given the shorter
// counts.
func TestChoice(t *testing.T) {
	for _, test := range []struct {
		standard, last string
		since          time.Duration
		count          int
		age            time.Duration
	}{
		{"20", "", 0, 20, 0},
		{"168h", "", 0, 0, 168 * time.Hour},
		{"", "", 0, 0, 0},
		{"20", "", time.Hour, 0, time.Hour},
		{"168h", "", 720 * time.Hour, 0, 720 * time.Hour},
		{"20", "20", time.Hour, 20, time.Hour},
		{"168h", "5", time.Hour, 5, time.Hour},
		{"168h", "2h", time.Hour, 0, time.Hour},
		{"168h", "1h", 2 * time.Hour, 0, time.Hour},
		{"20", "7d", 0, 0, 168 * time.Hour},
	} {
		c := Choice{Last: Last{Text: test.standard}}
		fs := pflag.NewFlagSet("runs", pflag.ContinueOnError)
		c.AddFlags(fs)
		var args []string
		if test.last != "" {
			args = append(args, "--last", test.last)
		}
		if test.since > 0 {
			args = append(args, "--since", test.since.String())
		}
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		faults := c.Validate(nil)
		if faults != nil || c.Count != test.count || c.Age != test.age {
			t.Errorf("default %q, %q: %d runs of the last %v, want %d of %v; %v", test.standard, args, c.Count, c.Age, test.count, test.age, faults)
		}
	}
}

func TestBadChoice(t *testing.T) {
	for _, text := range []string{"0", "-1", "0s", "-7d", "x", "20 runs"} {
		c := Choice{Last: Last{text, true}}
		if faults := c.Validate(nil); len(faults) != 1 {
			t.Errorf("%q: %v", text, faults)
		}
	}
}
