package value_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// written is a report of 2 s with tokens, as it is read from a file.
func written(t *testing.T, f tokens.Figures) *takt.Report {
	t.Helper()
	b, err := json.Marshal(f.Extra())
	var x map[string]any
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &takt.Report{DurationS: 2, Extra: map[string]any{tokens.Key: x}}
}

// Each number of both shards is in the whole: a new figure says what the whole's is.
func TestNoTokenIsLost(t *testing.T) {
	var one tokens.Figures
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanUint():
			f.SetUint(1)
		case f.CanFloat():
			f.SetFloat(4)
		}
	}
	x, ok := tokens.Merge([]*takt.Report{written(t, one), written(t, one)})
	whole, read := tokens.Of(&takt.Report{DurationS: 2, Extra: map[string]any{tokens.Key: x}})
	if !ok || !read || len(x) != v.NumField() {
		t.Fatalf("%v", x)
	}
	for i := range v.NumField() {
		f, name := reflect.ValueOf(whole).Field(i), v.Type().Field(i).Name
		if f.CanUint() && f.Uint() != 2 && name != "From" || f.CanFloat() && f.Float() != 4 {
			t.Errorf("%s of the whole is %v", name, f)
		}
	}
}

// The rate is that of the time until the last answer of any shard, and the source that of those who counted.
func TestTokensOfShards(t *testing.T) {
	usage := tokens.Figures{Output: 60, From: tokens.Usage, Lasted: 3}
	parts := tokens.Figures{Output: 40, From: tokens.Parts, Lasted: 5}
	none := tokens.Figures{Lasted: 2}
	for name, c := range map[string]struct {
		shards []tokens.Figures
		from   string
		perS   float64
	}{
		"both ways":                   {[]tokens.Figures{usage, parts}, "usage and parts", 20},
		"a shard without answers":     {[]tokens.Figures{usage, none, usage}, "usage", 40},
		"the first one has none":      {[]tokens.Figures{none, usage}, "usage", 20},
		"no answers at all":           {[]tokens.Figures{none, none}, "parts", 0},
		"the schedule is the longest": {[]tokens.Figures{{Output: 10, From: tokens.Parts, Lasted: 2}, none}, "parts", 5},
	} {
		var list []*takt.Report
		for _, f := range c.shards {
			list = append(list, written(t, f))
		}
		x, ok := tokens.Merge(list)
		if rate, _ := x["output_tokens_per_s"].(float64); !ok || x["tokens_from"] != c.from || math.Abs(rate-c.perS) > 1e-9 {
			t.Errorf("%s: %v; want by %s, %v/s", name, x, c.from, c.perS)
		}
	}
}

// Figures that takt does not write are none, and leave the whole without.
func TestForeignTokens(t *testing.T) {
	good := tokens.Figures{Output: 60, Input: 9, From: tokens.Usage, Lasted: 3}
	for name, v := range map[string]any{
		"output_tokens": -1.0, "input_tokens": 1e300, "length": "1", "cached_tokens": 0.5, "answers_cut": nil,
		"tokens_from": "hearsay", "output_tokens_per_s": 0.0,
	} {
		r := written(t, good)
		if _, ok := tokens.Of(r); !ok {
			t.Fatal("the report itself is refused")
		}
		r.Extra[tokens.Key].(map[string]any)[name] = v
		if _, ok := tokens.Merge([]*takt.Report{written(t, good), r}); ok {
			t.Errorf("%s may be %v", name, v)
		}
	}
	if _, ok := tokens.Merge([]*takt.Report{written(t, good), {}}); ok {
		t.Error("a shard without tokens was merged")
	}
}
