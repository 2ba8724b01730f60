package steps

import (
	"reflect"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// shard is the Extra of a shard whose step had n answers, as a report that was read has it.
func shard(n uint64) map[string]any {
	f := New("pay")
	f.OK, f.Failed, f.Skipped, f.Passed = n, 1, 2, 3
	f.Checks = []Check{{Text: "status 200"}}
	for i := range n {
		f.Response.Record(time.Duration(i) * time.Millisecond)
		f.Checks[0].Add(Passed)
	}
	f.Checks[0].Add(Failed)
	f.Checks[0].Add(Unasked)
	return map[string]any{Key: Rows([]Figures{f}), Rounds: map[string]any{"begun": float64(n), "intended_per_s": 5.0, Asked: 15.0}}
}

// The rows of the whole are those of one process that did all of it, and a shard with other checks has no whole.
func TestMerge(t *testing.T) {
	rows, ok := Merge([]map[string]any{shard(10), shard(20)})
	if !ok {
		t.Fatal("they cannot be merged")
	}
	row := rows[0].(map[string]any)
	checks := row["checks"].([]any)[0].(map[string]any)
	if row["ok"] != 30.0 || row["passed_over"] != 6.0 || checks["passed"] != 30.0 || checks["failed"] != 2.0 || row["response_max_us"].(float64) < 18_900 {
		t.Errorf("%v", row)
	}
	again, ok := Merge([]map[string]any{{Key: rows}})
	if !ok || !reflect.DeepEqual(again, rows) {
		t.Errorf("%v", again)
	}
	other := shard(1)
	other[Key].([]any)[0].(map[string]any)["checks"].([]any)[0].(map[string]any)["check"] = "status 201"
	none := shard(1)
	delete(none[Key].([]any)[0].(map[string]any), "checks")
	negative := shard(1)
	negative[Key].([]any)[0].(map[string]any)["passed_over"] = -1.0
	for _, bad := range []map[string]any{other, none, negative, {}} {
		if _, ok := Merge([]map[string]any{shard(1), bad}); ok {
			t.Errorf("%v was merged", bad)
		}
	}
	rounds, ok := MergeRounds([]map[string]any{shard(10), shard(20)})
	if !ok || rounds["begun"] != 30.0 || rounds["intended_per_s"] != 10.0 || rounds[Asked] != 15.0 {
		t.Errorf("%v", rounds)
	}
	if _, ok := MergeRounds([]map[string]any{shard(1), {}}); ok {
		t.Error("a shard without rounds was merged")
	}
}

// The report of one step has its counts and its times.
func TestOf(t *testing.T) {
	r := &takt.Report{DurationS: 2, Verdict: takt.Valid, Extra: shard(10)}
	of := Of(r, "p ay")
	if of == nil || of.Counts != (takt.Counts{Scheduled: 13, Sent: 11, OK: 10, Failed: 1, Dropped: 2}) || of.Latency["response"].Count != 10 || of.Rate.Achieved != 5.5 || of.Verdict != takt.Valid {
		t.Errorf("%+v", of)
	}
	if Of(r, "buy") != nil || Of(&takt.Report{}, "pay") != nil || !Is("pay", Names(r)) {
		t.Error("a step that is not there")
	}
}
