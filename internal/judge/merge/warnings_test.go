package merge

import (
	"fmt"
	"slices"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// warned are shards with one warning each; "": no warning.
func warned(code string, messages ...string) (list []shard) {
	for i, message := range messages {
		r := &takt.Report{Schedule: takt.Schedule{Shard: fmt.Sprintf("%d/%d", i+1, len(messages))}}
		if message != "" {
			r.Warn(code, "%s", message)
		}
		list = append(list, shard{Report: r, k: i + 1, n: len(messages)})
	}
	return list
}

func TestUnitedWarnings(t *testing.T) {
	alike := slices.Repeat([]string{"late by 3 ms"}, 9)
	for name, c := range map[string]struct {
		list []shard
		want []string
	}{
		"none":                 {warned("a", "", ""), nil},
		"one":                  {warned("a", "", "late by 3 ms"), []string{"shard 2/2: late by 3 ms"}},
		"all, without figures": {warned("a", "late", "late", "late", "late"), []string{"late"}},
		"all, with figures":    {warned("a", "3 ms", "3 ms"), []string{"each of the shards 1/2, 2/2: 3 ms"}},
		"many alike":           {warned("a", alike...), []string{"each of the shards 1/9, 2/9, 3/9 and 6 more: late by 3 ms"}},
		"three":                {warned("a", "1 ms", "2 ms", "3 ms"), []string{"shard 1/3: 1 ms", "shard 2/3: 2 ms", "shard 3/3: 3 ms"}},
		"four":                 {warned("a", "1 ms", "40 ms", "3 ms", "20 ms", ""), []string{"4 of 5 shards, the worst: shard 2/5: 40 ms; shard 4/5: 20 ms; shard 3/5: 3 ms"}},
		"some alike":           {warned("a", "1 ms", "2 ms", "2 ms", "1 ms"), []string{"4 of 4 shards, the worst: shard 2/4 and 1 more: 2 ms; shard 1/4 and 1 more: 1 ms"}},
		"durations":            {warned("a", "for 900µs, often", "for 1.2s, often", "for 1m3s", "for 2ms", "for 1ms"), []string{"5 of 5 shards, the worst: shard 3/5: for 1m3s; shard 2/5: for 1.2s, often; shard 4/5: for 2ms"}},
		"other units":          {warned("a", "1 %", "2 ms", "3 ms", "4 ms"), []string{"4 of 4 shards, the first: shard 1/4: 1 %; shard 2/4: 2 ms; shard 3/4: 3 ms"}},
		"units that touch":     {warned("a", "1%", "2ms", "3ms", "4ms"), []string{"4 of 4 shards, the first: shard 1/4: 1%; shard 2/4: 2ms; shard 3/4: 3ms"}},
		"other sentences":      {warned("a", "late 1", "early 2", "late 3", "late 4"), []string{"4 of 4 shards, the first: shard 1/4: late 1; shard 2/4: early 2; shard 3/4: late 3"}},
		"no figures":           {warned("a", "b", "c", "d", "e"), []string{"4 of 4 shards, the first: shard 1/4: b; shard 2/4: c; shard 3/4: d"}},
		"no number":            {warned("a", "1.2.3", "2", "3", "4"), []string{"4 of 4 shards, the first: shard 1/4: 1.2.3; shard 2/4: 2; shard 3/4: 3"}},
		"advice":               {warned("a", "1 ms; rest; do", "2 ms; rest; do", "3 ms; rest; do", "4 ms; do"), []string{"4 of 4 shards, the worst: shard 4/4: 4 ms; shard 3/4: 3 ms; rest; shard 2/4: 2 ms; rest; do"}},
		"the same advice":      {warned("a", "1 ms; rest; do", "2 ms; rest; do", "3 ms; rest; do", "4 ms; rest; do"), []string{"4 of 4 shards, the worst: shard 4/4: 4 ms; shard 3/4: 3 ms; shard 2/4: 2 ms; rest; do"}},
		"dropped":              {warned("dropped", "1", "2"), nil},
	} {
		var got []string
		for _, w := range unitedWarnings(c.list) {
			got = append(got, w.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Codes are told in the order in which they first appear, each once.
func TestUnitedByCode(t *testing.T) {
	list := warned("b", "1", "2")
	list[0].Warn("a", "x 5")
	list[1].Warn("a", "x 5")
	list[1].Warn("a", "x 5")
	want := []takt.Warning{{Code: "b", Message: "shard 1/2: 1"}, {Code: "b", Message: "shard 2/2: 2"}, {Code: "a", Message: "each of the shards 1/2, 2/2: x 5"}}
	if got := unitedWarnings(list); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
