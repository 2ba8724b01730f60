package document_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
	"github.com/taktload/takt/pkg/takt"
)

// What is unpacked is, as JSON, what was packed, byte for byte; and the run is that
// of the report however often it goes through.
func TestPackUnpack(t *testing.T) {
	reports := storetest.Reports(1, 200)
	all, err := document.Pack(reports...)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		again, err := document.Unpack(p.Gzip, "here")
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(reports[i])
		if got, _ := json.Marshal(again); string(got) != string(want) {
			t.Errorf("\n%s, want\n%s", got, want)
		}
		if run := stored.RunOf(again); !reflect.DeepEqual(run, p.Run) {
			t.Errorf("run\n%+v, want\n%+v", run, p.Run)
		}
		if hash := stored.NewSettings(reports[i].Variables, reports[i].Generator.HostClass).Hash; hash != p.Run.Settings.Hash {
			t.Errorf("settings have the hash %s once loaded, %s before", p.Run.Settings.Hash, hash)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]any{
		"1": 1.0, "1.0": 1.0, "1e3": 1000.0, "-0.25": -0.25, "0": 0.0,
		"9007199254740992": 9007199254740992.0, "9007199254740993": json.Number("9007199254740993"),
		"18446744073709551615": json.Number("18446744073709551615"), "-9007199254740993": json.Number("-9007199254740993"),
		"1e999": json.Number("1e999"),
	} {
		v, err := document.Variables([]byte(`{"a":[{"b":` + text + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := v["a"].([]any)[0].(map[string]any)["b"]; got != want {
			t.Errorf("%s is %T %v, want %T %v", text, got, got, want, want)
		}
	}
}

func TestPackRefuses(t *testing.T) {
	for want, r := range map[string]*takt.Report{
		"unsupported type":  {SchemaVersion: 1, ID: "a", Extra: map[string]any{"x": func() {}}},
		"no schema_version": {ID: "a"},
		"and id":            {SchemaVersion: 1},
	} {
		if _, err := document.Pack(&takt.Report{SchemaVersion: 1, ID: "good"}, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A figure that JSON cannot hold does not cost the run.
func TestPackNotFinite(t *testing.T) {
	r := &takt.Report{SchemaVersion: 1, ID: "a", DurationS: math.NaN(), Extra: map[string]any{"ratio": math.Inf(1), "n": 2}}
	all, err := document.Pack(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := document.Unpack(all[0].Gzip, "here")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"ratio": nil, "n": 2.0}; again.DurationS != 0 || !reflect.DeepEqual(again.Extra, want) || !again.Warned("not_finite") {
		t.Errorf("%v s, %v, %v", again.DurationS, again.Extra, again.Warnings)
	}
	if !math.IsNaN(r.DurationS) || r.Warnings != nil {
		t.Error("the report itself was changed")
	}
}

func TestUnpackDamaged(t *testing.T) {
	all, err := document.Pack(&takt.Report{SchemaVersion: 1, ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(all[0].Gzip) {
		if _, err := document.Unpack(all[0].Gzip[:n], "here"); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "here") {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

func TestParseTooNew(t *testing.T) {
	if _, err := document.Parse([]byte(`{"schema_version":2,"id":"a"}`)); !errors.Is(err, fault.ErrTooNew) || !strings.Contains(err.Error(), "newer takt") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{ // short ones: with histograms there are few tries a second
		`{"schema_version":1,"id":"a","variables":{"a":1e400,"b":[9007199254740993]}}`,
		`{"schema_version":1,"id":"\u2028","labels":{"":"x"},"extra":{"a":{"b":[null,true,-0,1.0]}},"latency":{"response":{"p50_us":1e-7}}}`,
		`{"schema_version":2,"id":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := document.Parse(text)
		if err != nil {
			return
		}
		once, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := document.Parse(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := json.Marshal(again); string(twice) != string(once) {
			t.Errorf("%s, then %s", once, twice)
		}
	})
}

// Stamps sort as their instants, in any zone.
func TestStamp(t *testing.T) {
	instants := []time.Time{
		{}, time.Unix(0, 1), time.Unix(0, 10), time.Unix(1, 0).In(time.FixedZone("", -8*3600)), time.Unix(1, 5e8),
		time.Unix(2, 0).In(time.FixedZone("", 8*3600)), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	}
	var stamps []string
	for _, at := range instants {
		s := document.Stamp(at)
		stamps = append(stamps, s)
		if back, err := document.Time(s); err != nil || !back.Equal(at) {
			t.Errorf("%s is %v, %v; want %v", s, back, err, at)
		}
	}
	if !slices.IsSorted(stamps) {
		t.Errorf("%v", stamps)
	}
}
