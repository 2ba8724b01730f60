package takt

import (
	"reflect"
	"testing"
	"time"
)

func TestWarn(t *testing.T) {
	late := []any{Number("late", uint64(27)), Percent("late_share", 9.04), Time("bound", time.Millisecond), Number("steps", 2).As("two steps"), "a name", "lower the rate, or " + SpreadLoad}
	const format = "%d operations (%.1f %%) were more than %v late in %s of %q; %s"
	fields := []Field{{"late", 27, UnitCount}, {"late_share", 9.04, UnitPercent}, {"bound", 1000, UnitMicroseconds}, {"steps", 2, UnitCount}}
	for want, words := range map[string]Words{
		"lower the rate, or spread the run with --shard": {},
		"lower the rate, or buy machines":                {SpreadLoad: "buy machines"},
	} {
		r := Report{Words: words}
		r.Warn("generator_late", format, late...)
		message := `27 operations (9.0 %) were more than 1ms late in two steps of "a name"; ` + want
		if got := r.Warnings[0]; !reflect.DeepEqual(got, Warning{"generator_late", message, fields, want}) {
			t.Errorf("%+v", got)
		}
	}
	var r Report
	r.Warn("lag", "%.3f s, %d bytes, %.0f/s, %.0f µs", Seconds("a", 0.5), Size("b", 7), PerSecond("c", 3), Micros("d", 1.2))
	want := Warning{"lag", "0.500 s, 7 bytes, 3/s, 1 µs", []Field{{"a", 0.5, UnitSeconds}, {"b", 7, UnitBytes}, {"c", 3, UnitPerSecond}, {"d", 1.2, UnitMicroseconds}}, ""}
	if !reflect.DeepEqual(r.Warnings[0], want) || !r.Warned("lag") || r.Warned("lost") {
		t.Errorf("%+v, want %+v", r.Warnings, want)
	}
}
