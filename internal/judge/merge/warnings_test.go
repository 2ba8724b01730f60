package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// sentence is the format of a warning, and its arguments; nil: no warning.
type sentence []any

// warned are shards with one warning each.
func warned(code takt.WarningCode, sentences ...sentence) (list []shard) {
	for i, s := range sentences {
		r := &takt.Report{Schedule: takt.Schedule{Shard: fmt.Sprintf("%d/%d", i+1, len(sentences))}}
		if s != nil {
			r.Warn(code, s[0].(string), s[1:]...)
		}
		list = append(list, shard{Report: r, k: i + 1, n: len(sentences)})
	}
	return list
}

// late says by how much, and rest what to do.
func late(d time.Duration, rest ...any) sentence {
	return append(sentence{"late by %v" + strings.Repeat("; %s", len(rest)), takt.Time("late", d)}, rest...)
}

func TestUnitedWarnings(t *testing.T) {
	const ms, do = time.Millisecond, takt.Advice("do")
	alike := slices.Repeat([]sentence{late(3 * ms)}, 9)
	plain := func(text string) sentence { return sentence{text} }
	for name, c := range map[string]struct {
		list []shard
		want []string
	}{
		"none":                  {warned("a", nil, nil), nil},
		"one":                   {warned("a", nil, late(3*ms)), []string{"shard 2/2: late by 3ms"}},
		"all, without figures":  {warned("a", plain("late"), plain("late"), plain("late"), plain("late")), []string{"late"}},
		"all, with figures":     {warned("a", late(3*ms), late(3*ms)), []string{"each of the shards 1/2, 2/2: late by 3ms"}},
		"many alike":            {warned("a", alike...), []string{"each of the shards 1/9, 2/9, 3/9 and 6 more: late by 3ms"}},
		"three":                 {warned("a", late(1*ms), late(2*ms), late(3*ms)), []string{"shard 1/3: late by 1ms", "shard 2/3: late by 2ms", "shard 3/3: late by 3ms"}},
		"four":                  {warned("a", late(1*ms), late(40*ms), late(3*ms), late(20*ms), nil), []string{"4 of 5 shards, the worst: shard 2/5: late by 40ms; shard 4/5: late by 20ms; shard 3/5: late by 3ms"}},
		"some alike":            {warned("a", late(1*ms), late(2*ms), late(2*ms), late(1*ms)), []string{"4 of 4 shards, the worst: shard 2/4 and 1 more: late by 2ms; shard 1/4 and 1 more: late by 1ms"}},
		"units of time":         {warned("a", late(900*time.Microsecond), late(1200*ms), late(63*time.Second), late(2*ms)), []string{"4 of 4 shards, the worst: shard 3/4: late by 1m3s; shard 2/4: late by 1.2s; shard 4/4: late by 2ms"}},
		"other sentences":       {warned("a", late(1*ms), sentence{"for %v it was late", takt.Time("late", 9*ms)}, late(3*ms), late(4*ms)), []string{"4 of 4 shards, the worst: shard 2/4: for 9ms it was late; shard 4/4: late by 4ms; shard 3/4: late by 3ms"}},
		"other units":           {warned("a", sentence{"late in %v %%", takt.Percent("late", 1)}, late(2*ms), late(3*ms), late(4*ms)), []string{"4 of 4 shards, the first: shard 1/4: late in 1 %; shard 2/4: late by 2ms; shard 3/4: late by 3ms"}},
		"other figures":         {warned("a", sentence{"early by %v", takt.Time("early", ms)}, late(2*ms), late(3*ms), late(4*ms)), []string{"4 of 4 shards, the first: shard 1/4: early by 1ms; shard 2/4: late by 2ms; shard 3/4: late by 3ms"}},
		"one without figures":   {warned("a", late(1*ms), plain("late"), late(3*ms), late(4*ms)), []string{"4 of 4 shards, the first: shard 1/4: late by 1ms; shard 2/4: late; shard 3/4: late by 3ms"}},
		"of an older takt":      {warned("a", plain("1 ms"), plain("2 ms"), plain("3 ms"), plain("4 ms")), []string{"4 of 4 shards, the first: shard 1/4: 1 ms; shard 2/4: 2 ms; shard 3/4: 3 ms"}},
		"all, of an older takt": {warned("a", plain("3 ms"), plain("3 ms")), []string{"each of the shards 1/2, 2/2: 3 ms"}},
		"advice of some":        {warned("a", late(1*ms, do), late(2*ms, do), late(3*ms, do), late(4*ms)), []string{"4 of 4 shards, the worst: shard 4/4: late by 4ms; shard 3/4: late by 3ms; do; shard 2/4: late by 2ms; do"}},
		"other advice":          {warned("a", late(1*ms, do), late(2*ms, do), late(3*ms, takt.Advice("rest")), late(4*ms, do)), []string{"4 of 4 shards, the worst: shard 4/4: late by 4ms; do; shard 3/4: late by 3ms; rest; shard 2/4: late by 2ms; do"}},
		"the same advice":       {warned("a", late(1*ms, "rest", do), late(2*ms, "rest", do), late(3*ms, do), late(4*ms, do)), []string{"4 of 4 shards, the worst: shard 4/4: late by 4ms; shard 3/4: late by 3ms; shard 2/4: late by 2ms; rest; do"}},
		"advice amid":           {warned("a", late(1*ms, do, "x"), late(2*ms, do, "x"), late(3*ms, do, "x"), late(4*ms, do, "x")), []string{"4 of 4 shards, the worst: shard 4/4: late by 4ms; do; x; shard 3/4: late by 3ms; do; x; shard 2/4: late by 2ms; do; x"}},
		"dropped":               {warned(warn.Dropped, plain("1"), plain("2")), nil},
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

// One warning for many shards has their number, the figures of the worst, and the advice of all.
func TestCollapsedFields(t *testing.T) {
	do := takt.Advice("do")
	got := unitedWarnings(warned("a", late(1, do), late(4, do), late(3, do), late(2, do), nil))
	want := []takt.Warning{{
		Code: "a", Message: "4 of 5 shards, the worst: shard 2/5: late by 4ns; shard 3/5: late by 3ns; shard 4/5: late by 2ns; do", Advice: "do",
		Fields: []takt.Field{{Name: "shards", Value: 4, Unit: takt.UnitCount}, {Name: "all", Value: 5, Unit: takt.UnitCount}, {Name: "late", Value: 0.004, Unit: takt.UnitMicroseconds}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Codes are told in the order in which they first appear, each once.
func TestUnitedByCode(t *testing.T) {
	list := warned("b", sentence{"1"}, sentence{"2"})
	list[0].Warn("a", "x 5")
	list[1].Warn("a", "x 5")
	list[1].Warn("a", "x 5")
	want := []takt.Warning{{Code: "b", Message: "shard 1/2: 1"}, {Code: "b", Message: "shard 2/2: 2"}, {Code: "a", Message: "each of the shards 1/2, 2/2: x 5"}}
	if got := unitedWarnings(list); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
