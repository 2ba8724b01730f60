package value_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/taktload/takt/internal/steps"
)

// stored is Report.Extra with steps after a round through JSON.
func stored(t *testing.T, list []steps.Figures) map[string]any {
	t.Helper()
	text, err := json.Marshal(map[string]any{steps.Key: steps.Rows(list)})
	if err != nil {
		t.Fatal(err)
	}
	var extra map[string]any
	if err := json.Unmarshal(text, &extra); err != nil {
		t.Fatal(err)
	}
	return extra
}

// A merge of shards is the whole: counts add up, and percentiles are those of all operations.
func TestMerge(t *testing.T) {
	login, cart := steps.New("login"), steps.New("cart")
	whole := steps.New("login")
	for i := range 100 {
		d := time.Duration(i+1) * time.Millisecond
		login.Response.Record(d)
		whole.Response.Record(d)
	}
	login.OK, login.Failed, cart.Skipped = 99, 1, 3
	other := steps.New("login")
	for i := range 100 {
		d := time.Duration(i+1) * time.Second
		other.Response.Record(d)
		whole.Response.Record(d)
	}
	other.OK, whole.OK, whole.Failed = 100, 199, 1
	first, second := stored(t, []steps.Figures{login, cart}), stored(t, []steps.Figures{other, steps.New("cart")})
	rows, ok := steps.Merge([]map[string]any{first, second})
	if !ok || len(rows) != 2 {
		t.Fatalf("%v %v", rows, ok)
	}
	got, want := rows[0].(map[string]any), steps.Rows([]steps.Figures{whole})[0].(map[string]any)
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
	if cart := rows[1].(map[string]any); cart["skipped"] != 3.0 || cart["ok"] != 0.0 || cart["response_p50_us"] != nil {
		t.Errorf("%v", cart)
	}
}

// What does not belong together is not merged.
func TestMergeRefuses(t *testing.T) {
	a := steps.New("a")
	a.Response.Record(time.Second)
	whole := stored(t, []steps.Figures{a})
	damaged := func(change func(row map[string]any)) map[string]any {
		extra := stored(t, []steps.Figures{a})
		change(extra[steps.Key].([]any)[0].(map[string]any))
		return extra
	}
	for name, other := range map[string]map[string]any{
		"no steps":     {},
		"another step": stored(t, []steps.Figures{steps.New("b")}),
		"more steps":   stored(t, []steps.Figures{a, steps.New("b")}),
		"no histogram": damaged(func(row map[string]any) { delete(row, "response_hdr") }),
		"garbage":      damaged(func(row map[string]any) { row["response_hdr"] = "garbage" }),
		"no count":     damaged(func(row map[string]any) { row["ok"] = "many" }),
		"half a step":  damaged(func(row map[string]any) { row["ok"] = 0.5 }),
		"not a row":    {steps.Key: []any{"x"}},
	} {
		if rows, ok := steps.Merge([]map[string]any{whole, other}); ok {
			t.Errorf("%s: %v", name, rows)
		}
	}
	if _, ok := steps.Merge(nil); ok {
		t.Error("nothing was merged")
	}
}
