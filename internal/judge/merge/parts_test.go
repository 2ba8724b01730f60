package merge

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// shardsWith are shards of which each report is changed.
func shardsWith(changes ...func(r *takt.Report)) (list []shard) {
	for i, change := range changes {
		r := &takt.Report{}
		change(r)
		list = append(list, shard{Report: r, k: i + 1, n: len(changes)})
	}
	return list
}

// Costs of all hosts are added, and the worst of them is the whole's.
func TestGenerators(t *testing.T) {
	got := mergeGenerators(shardsWith(
		func(r *takt.Report) {
			r.Generator = takt.Generator{Engine: "worker", Loops: 1, GOMAXPROCS: 2, CPUS: 3, MaxRSS: 4, GCCycles: 5, GCPauseMaxUS: 6, Stolen: 7, WaitedS: 8, ThrottledS: 9, Retransmits: 10, Cores: 11, NoiseFloorUS: 12}
		},
		func(r *takt.Report) {
			r.Generator = takt.Generator{Engine: "loop", Loops: 10, GOMAXPROCS: 20, CPUS: 30, MaxRSS: 40, GCCycles: 50, GCPauseMaxUS: 60, Stolen: 70, WaitedS: 80, ThrottledS: 90, Retransmits: 100, Cores: 110, HostClass: "big", NoiseFloorUS: 120}
		},
		func(r *takt.Report) { r.Generator = takt.Generator{Engine: "loop"} },
	))
	want := takt.Generator{
		Engine: "loop+worker", Loops: 11, GOMAXPROCS: 22, CPUS: 33, MaxRSS: 44, GCCycles: 55, GCPauseMaxUS: 60, Stolen: 70, WaitedS: 88, ThrottledS: 99, Retransmits: 110, Cores: 121,
		HostClass: "2 × unknown host + 1 × big", NoiseFloorUS: 120,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Each number of the reports of shards is in the whole: a new figure says in together, or in mergeGenerators, what
// the whole's is.
func TestNoFigureIsLost(t *testing.T) {
	list := shardsWith(func(r *takt.Report) { fill(reflect.ValueOf(r).Elem()) }, func(r *takt.Report) { fill(reflect.ValueOf(r).Elem()) })
	for _, s := range list {
		s.Schedule.Shard, s.Extra, s.Variables = "1/2", nil, nil
	}
	whole := together(list)
	whole.Ledger = list[0].Ledger // see Ledger.Plus
	whole.IntervalS = 1           // by Fold, like all that is a list, a map or found in them
	zeros("report", reflect.ValueOf(whole).Elem(), func(path string) { t.Errorf("%s of the whole is 0, and its shards have 1", path) })
}

// Tokens, messages and missed conditions are those of all shards, and what is merged is not with each shard again. A shard whose tokens
// are not known leaves the whole without.
func TestTokensOfShards(t *testing.T) {
	one := func(output uint64, lasted float64) func(r *takt.Report) {
		return func(r *takt.Report) {
			r.DurationS = 2
			r.Goodput = &takt.Goodput{Missed: map[string]uint64{"ttft<1s": output, "tpot<1s": 1}}
			r.Extra = map[string]any{
				tokens.Key:      tokens.Figures{Output: output, From: tokens.Usage, Lasted: lasted}.Extra(),
				tokens.CallsKey: tokens.Messages{Sent: output, Received: 1}.Extra(),
			}
		}
	}
	list := shardsWith(one(30, 2), one(70, 4))
	for range 2 {
		whole := together(list)
		f, ok := tokens.Of(whole)
		if want := (tokens.Figures{Output: 100, From: tokens.Usage, Lasted: 4}); !ok || f != want {
			t.Errorf("%+v, want %+v", f, want)
		}
		if m, ok := tokens.MessagesOf(whole); !ok || m != (tokens.Messages{Sent: 100, Received: 2}) {
			t.Errorf("%+v", m)
		}
		if part := whole.Extra["parts"].([]any)[0].(map[string]any); part["extra"] != nil {
			t.Errorf("the first shard has %v", part["extra"])
		}
		if want := map[string]uint64{"ttft<1s": 100, "tpot<1s": 2}; !maps.Equal(whole.Goodput.Missed, want) {
			t.Errorf("missed %v, want %v", whole.Goodput.Missed, want)
		}
	}
	list[1].Extra = nil
	if whole := together(list); whole.Extra[tokens.Key] != nil || whole.Extra[tokens.CallsKey] != nil || whole.Extra["parts"].([]any)[0].(map[string]any)["extra"] == nil {
		t.Errorf("%v", whole.Extra)
	}
}

// fill sets each number to 1.
func fill(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() != reflect.Struct:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	}
}

// zeros calls f with the path of each number that is 0 or nil.
func zeros(path string, v reflect.Value, f func(string)) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				zeros(path+"."+field.Name, v.Field(i), f)
			}
		}
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() != reflect.Struct:
		if v.IsNil() {
			f(path)
		} else {
			zeros(path, v.Elem(), f)
		}
	case (v.CanInt() || v.CanUint() || v.CanFloat()) && v.IsZero():
		f(path)
	}
}

// The engine of a shard is a matter of its host: the whole has all.
func TestEnginesOfAll(t *testing.T) {
	list := shardsWith(
		func(r *takt.Report) {
			r.Schedule.Shard, r.Variables, r.Generator.Engine = "1/2", map[string]any{"engine": "loop"}, "loop"
		},
		func(r *takt.Report) {
			r.Schedule.Shard, r.Variables, r.Generator.Engine = "2/2", map[string]any{"engine": "worker"}, "worker"
		},
	)
	if list := strange(list[0], list[1]); list != nil {
		t.Errorf("%q", list)
	}
	if got := together(list).Variables["engine"]; got != "loop+worker" {
		t.Errorf("the engine is %v", got)
	}
	if said, want := differences(list), "the shards have several engines, which may be late in different ways: loop (1/2), worker (2/2)"; len(said) != 1 || said[0] != want {
		t.Errorf("%q, want %s", said, want)
	}
}

// Slices are added by their bound, the round trip is the shortest known, and a shard with response
// times needs slices.
func TestAttributions(t *testing.T) {
	of := func(rtt float64, slices ...takt.Slice) func(r *takt.Report) {
		return func(r *takt.Report) { r.Attribution = takt.Attribution{RTT: rtt, Slices: slices} }
	}
	lacks := func(n uint64) func(r *takt.Report) {
		return func(r *takt.Report) { r.Latency = map[string]takt.Latency{takt.LatencyResponse: {Count: n}} }
	}
	slice := func(below float64, n uint64, late float64) takt.Slice {
		return takt.Slice{Below: below, Operations: n, Parts: takt.Parts{Late: late, Target: 1}}
	}
	a, b := of(30, slice(4, 1, 2), slice(16, 1, 1)), of(20, slice(8, 5, 3), slice(16, 2, 4))
	both := []takt.Slice{slice(4, 1, 2), slice(8, 5, 3), {Below: 16, Operations: 3, Parts: takt.Parts{Late: 5, Target: 2}}}
	for name, c := range map[string]struct {
		list []shard
		want takt.Attribution
	}{
		"both":                  {shardsWith(a, b), takt.Attribution{RTT: 20, Slices: both}},
		"backwards":             {shardsWith(b, a), takt.Attribution{RTT: 20, Slices: both}},
		"an unknown RTT":        {shardsWith(of(0), a), takt.Attribution{RTT: 30, Slices: []takt.Slice{slice(4, 1, 2), slice(16, 1, 1)}}},
		"the first is shorter":  {shardsWith(of(1), of(5)), takt.Attribution{RTT: 1}},
		"the second is shorter": {shardsWith(of(5), of(0.5)), takt.Attribution{RTT: 0.5}},
		"an RTT and no other":   {shardsWith(of(0.5), of(0)), takt.Attribution{RTT: 0.5}},
		"nothing was sent":      {shardsWith(a, lacks(0)), takt.Attribution{RTT: 30, Slices: []takt.Slice{slice(4, 1, 2), slice(16, 1, 1)}}},
		"slices are missing":    {shardsWith(a, lacks(1)), takt.Attribution{}},
	} {
		if got := mergeAttributions(c.list); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Classes are added, and the first shard with a message has that of the whole.
func TestErrorsOfAll(t *testing.T) {
	of := func(list ...takt.ErrorClass) func(r *takt.Report) {
		return func(r *takt.Report) { r.Errors = list }
	}
	list := shardsWith(
		of(takt.ErrorClass{Class: "b", Count: 1}, takt.ErrorClass{Class: "c", Count: 2, Sample: "first", Body: "one"}),
		of(takt.ErrorClass{Class: "c", Count: 3, Sample: "second", Body: "two"}, takt.ErrorClass{Class: "a", Count: 4}, takt.ErrorClass{Class: "b", Count: 3, Sample: "third", Body: "three"}),
	)
	want := []takt.ErrorClass{{Class: "c", Count: 5, Sample: "first", Body: "one"}, {Class: "a", Count: 4}, {Class: "b", Count: 4, Sample: "third", Body: "three"}}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		all := errorSums{}
		for _, i := range order {
			all.add(list[i].k, list[i].Errors)
		}
		if got := all.list(); !reflect.DeepEqual(got, want) {
			t.Errorf("in the order %v: %+v, want %+v", order, got, want)
		}
	}
	if none := (errorSums{}).list(); none == nil {
		t.Error("no classes are not an empty list")
	}
}

// The number of requests is each shard's own only in a closed loop.
func TestAddedVariables(t *testing.T) {
	for profile, want := range map[string]any{"closed": 30.0, "constant": 10.0} {
		one := func(n float64) func(r *takt.Report) {
			return func(r *takt.Report) {
				r.Schedule.Profile, r.Variables = profile, map[string]any{"requests": n, "path": "/", "loops": 1.0, "workers": "two"}
			}
		}
		got := wholeVariables(shardsWith(one(10), one(20)))
		if want := (map[string]any{"requests": want, "path": "/", "loops": 2.0, "workers": "two"}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", profile, got, want)
		}
	}
}

// A part of the whole has what its shard alone says, if anything.
func TestExtraOfSome(t *testing.T) {
	got := wholeExtra(shardsWith(
		func(r *takt.Report) { r.Extra = map[string]any{"mode": "a", "lost": 1.0} },
		func(r *takt.Report) { r.Extra = map[string]any{"mode": "a"} },
	))
	parts := got["parts"].([]any)
	first, second := parts[0].(map[string]any), parts[1].(map[string]any)
	if !reflect.DeepEqual(first["extra"], map[string]any{"lost": 1.0}) || second["extra"] != nil || got["mode"] != "a" || got["shards"] != 2 {
		t.Errorf("%v", got)
	}
	if _, ok := second["extra"]; ok {
		t.Error("a part has an empty section")
	}
}

// The steps of a scenario are those of all shards, and no part repeats them.
func TestStepsOfAll(t *testing.T) {
	of := func(ok uint64) func(r *takt.Report) {
		f := steps.New("login")
		f.OK = ok
		f.Response.Record(time.Second)
		return func(r *takt.Report) { r.Extra = map[string]any{steps.Key: steps.Rows([]steps.Figures{f})} }
	}
	got := wholeExtra(shardsWith(of(2), of(3)))
	if row := got[steps.Key].([]any)[0].(map[string]any); row["ok"] != 5.0 || row["response_max_us"] == nil {
		t.Errorf("%v", row)
	}
	for _, part := range got["parts"].([]any) {
		if extra := part.(map[string]any)["extra"]; extra != nil {
			t.Errorf("a part has %v", extra)
		}
	}
}
