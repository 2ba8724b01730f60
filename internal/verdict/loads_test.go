package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

func TestShardsLimited(t *testing.T) {
	late := ShardLoad{Shard: "1/3", Limited: true, CPU: 9.9, Time: 10, Cores: 1, HostCores: 4, Host: "a"}
	of := func(shard, host string, cpu float64) ShardLoad {
		return ShardLoad{Shard: shard, Host: host, CPU: cpu, Time: 10, Cores: 1, HostCores: 4}
	}
	disturbed := of("3/3", "c", 4)
	disturbed.Disturbed = true
	const subject = "the generator was the bottleneck in 1 of 3 shards (1/3)"
	for name, c := range map[string]struct {
		list []ShardLoad
		want string // "": no warning
	}{
		"none":                 {[]ShardLoad{of("1/3", "a", 4), of("2/3", "b", 3)}, ""},
		"no shards":            {nil, ""},
		"all":                  {[]ShardLoad{late, late}, "the generator was the bottleneck in all 2 shards; lower the rate, or spread the run over more shards"},
		"room":                 {[]ShardLoad{late, of("2/3", "b", 3), of("3/3", "c", 4)}, subject + "; the others used at most 40 % of the CPU that they can use, which leaves room for up to 2.2 times their rate"},
		"one host":             {[]ShardLoad{late, of("2/3", "a", 4), of("3/3", "a", 4)}, subject + "; the others used at most 45 % of the CPU that they can use, which leaves room for up to 2.0 times their rate"},
		"hosts unknown":        {[]ShardLoad{late, of("2/3", "", 3), of("3/3", "c", 4)}, subject + "; the others used at most 40 % of the CPU that they can use"},
		"waited for a core":    {[]ShardLoad{late, of("2/3", "b", 3), disturbed}, subject + "; the others used at most 40 % of the CPU that they can use"},
		"hardly any room":      {[]ShardLoad{late, of("2/3", "b", 8.5), of("3/3", "c", 4)}, subject + "; the others used at most 85 % of the CPU that they can use"},
		"much more than seen":  {[]ShardLoad{late, of("2/3", "b", 0.1), of("3/3", "c", 0.1)}, subject + "; the others used at most 1 % of the CPU that they can use, which leaves room for up to 10.0 times their rate"},
		"CPU unknown":          {[]ShardLoad{late, of("2/3", "b", 0), of("3/3", "c", 4)}, subject},
		"cores unknown":        {[]ShardLoad{late, {Shard: "2/3", CPU: 1, Time: 10}, of("3/3", "c", 4)}, subject},
		"nothing was measured": {[]ShardLoad{late, {Shard: "2/3", CPU: 1, Cores: 1}, of("3/3", "c", 4)}, subject},
	} {
		whole := &takt.Report{}
		(&Shards{Loads: c.list}).Judge(whole)
		var got []string
		for _, w := range whole.Warnings {
			got = append(got, string(w.Code)+": "+w.Message)
		}
		want := []string{"shards_limited: " + c.want}
		if c.want == "" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "a", 2: "a, a", 8: strings.Repeat("a, ", 7) + "a", 9: "a, a, a and 6 more"} {
		if got := Named(slices.Repeat([]string{"a"}, n)); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// A generator that is late in a warning only, or shards that were cut short, are no bottleneck.
func TestByGenerator(t *testing.T) {
	for code, want := range map[takt.WarningCode]bool{"generator_bottleneck": true, "generator_saturated": true, "host_limit": true, "generator_late": false, "shards_cut": false, "accounting": false} {
		if got := ByGenerator([]takt.Warning{{Code: "gc"}, {Code: code}}); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}
