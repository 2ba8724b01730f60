package store_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/heyapm"
	"github.com/taktload/takt/pkg/takt"
)

func document1(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The documents of all the times are one run: 2726 requests of 7259 bytes with an
// answer 202 in 30.002 s, which hey-apm showed as 659.6 kb/s, 11.01 ms and 99.25 %.
func TestFormulas(t *testing.T) {
	for _, name := range []string{"2018-04", "2018-07", "2018-09"} {
		t.Run(name, func(t *testing.T) {
			r, err := heyapm.Parse(document1(t, name))
			if err != nil {
				t.Fatal(err)
			}
			figures := stored.RunOf(r).Figures
			for metric, want := range map[string]struct{ value, digits float64 }{
				"pushed": {660041, 0}, "accepted": {659557, 0}, "accepted_requests": {2726, 0},
				"throughput": {992, 0}, "latency": {11.01, 2}, "index": {0.9925, 4},
				"max_rss": {40e6, 0}, "efficiency": {0.989, 3}, "ok": {2726, 0}, "failed": {2, 0},
			} {
				got, ok := figures.Get(metric)
				scale := math.Pow(10, want.digits)
				if !ok || math.Round(got*scale)/scale != want.value {
					t.Errorf("%s is %v, want %v", metric, got, want.value)
				}
			}
			if r.Extra["imported_from"] != "hey-apm" {
				t.Errorf("extra %v", r.Extra)
			}
		})
	}
}

func TestNames(t *testing.T) {
	r, err := heyapm.Parse(document1(t, "2018-04"))
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != "a1b2c3d4" || r.Kind != "apm" || r.DurationS != 30.002 || r.Verdict != takt.Valid || len(r.Latency) > 0 {
		t.Errorf("report %+v", r)
	}
	if want := time.Unix(1524669437, 0).Add(-30002 * time.Millisecond); !r.StartedAt.Equal(want) {
		t.Errorf("started at %v, want %v", r.StartedAt, want)
	}
	labels := map[string]string{"branch": "master", "revision": "a1b2c3d", "revision_date": "2018-04-20T10:00:00+02:00"}
	if !maps.Equal(r.Labels, labels) {
		t.Errorf("labels %v, want %v", r.Labels, labels)
	}
	variables := map[string]any{
		"duration_s": 30.0, "events": int64(1), "spans": int64(10), "frames": int64(2), "workers": int64(3),
		"memory_limit_bytes": int64(-1), "apm_host": "localhost", "elastic_host": "es.example.com:9200",
		"flags": map[string]any{"apm-server.concurrent_requests": "40", "queue.mem.events": "4096"},
	}
	if !reflect.DeepEqual(r.Variables, variables) {
		t.Errorf("variables\n%v, want\n%v", r.Variables, variables)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "changeme") {
		t.Errorf("the password of the cluster got in: %s", text)
	}
}

// The names changed in 2018, the run did not.
func TestOldAndNewNamesAreOneSetting(t *testing.T) {
	hash := map[string]bool{}
	var keys []string
	for _, name := range []string{"2018-04", "2018-07"} {
		r, err := heyapm.Parse(document1(t, name))
		if err != nil {
			t.Fatal(err)
		}
		run := stored.RunOf(r)
		hash[run.Settings.Hash] = true
		keys = append(keys, run.Key)
	}
	if len(hash) != 1 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("settings %v, keys %v", hash, keys)
	}
}

// Of the protocol v2 hey-apm knew no answers: what needs them is missing, and its
// efficiency is another figure.
func TestV2(t *testing.T) {
	r, err := heyapm.Parse(document1(t, "v2"))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(r.Extra))
	if want := []string{"imported_from", "max_rss", "pushed", "throughput"}; !slices.Equal(names, want) {
		t.Errorf("extra %v, want %v", names, want)
	}
	if got, want := r.Extra["pushed"], 100_000.0*60/32; got != want {
		t.Errorf("pushed %v, want %v", got, want)
	}
	v := r.Variables
	if v["apm_host"] != "a.example.com,b.example.com" || v["workers"] != int64(2) || v["errors"] != int64(5) || v["timeout_s"] != 10.0 || v["stream"] != true {
		t.Errorf("variables %v", v)
	}
	if r.StartedAt != time.Date(2018, 10, 1, 11, 59, 28, 500e6, time.UTC) {
		t.Errorf("started at %v", r.StartedAt)
	}
	if r.Labels["label"] != "nightly" {
		t.Errorf("labels %v", r.Labels)
	}
}

func TestFigureThatIsMissing(t *testing.T) {
	for field, missing := range map[string][]string{
		"req_size":      {"pushed", "accepted", "efficiency"},
		"total_res":     {"pushed"},
		"total_res202":  {"accepted", "accepted_requests", "latency", "index", "efficiency"},
		"max_rss":       {"max_rss", "efficiency"},
		"total_indexed": {"throughput", "index"},
		"events":        {"index"},
	} {
		var d map[string]any
		if err := json.Unmarshal(document1(t, "2018-04"), &d); err != nil {
			t.Fatal(err)
		}
		whole := extra(t, d)
		delete(d, field)
		part := extra(t, d)
		for name := range whole {
			if _, ok := part[name]; ok == slices.Contains(missing, name) {
				t.Errorf("without %s: %s is there: %v", field, name, ok)
			}
		}
	}
	zero := map[string]any{"report_id": "x", "timestamp": 1, "elapsed": 1, "req_size": 1, "total_res": 0, "total_res202": 0, "events": 1, "total_indexed": 0, "max_rss": 0}
	if got := extra(t, zero); got["latency"] != nil || got["index"] != nil || got["max_rss"] != nil || got["pushed"] != 0.0 {
		t.Errorf("of a run without answers: %v", got)
	}
}

func extra(t *testing.T, document map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	r, err := heyapm.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r.Extra
}

func TestCancelled(t *testing.T) {
	r, err := heyapm.Parse([]byte(`{"report_id":"x","@timestamp":"2018-10-01T12:00:00Z","elapsed":1,"cancelled":true,"total_res":1,"total_res202":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if run := stored.RunOf(r); !strings.Contains(run.Unfit, "cancelled") {
		t.Errorf("unfit %q", run.Unfit)
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`:                 {"not a report of hey-apm"},
		`{"duration":"30s"}`: {"not a report of hey-apm"},
		`{}`:                 {"report_id", "elapsed", "date"},
		`{"report_id":"x"}`:  {"elapsed", "date"},
		`{"report_id":"x","elapsed":1,"report_date":"yesterday"}`: {"date"},
	} {
		_, err := heyapm.Parse([]byte(text))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q in it", text, err, w)
			}
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"report_id":"x"}`: true, `{"report_id":""}`: false, `{"schema_version":1,"id":"x"}`: false,
		`{"schema_version":1,"id":"x","report_id":"y"}`: false, `[]`: false, `{`: false, `null`: false,
	} {
		if heyapm.Is([]byte(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func FuzzHeyapmParse(f *testing.F) {
	for _, name := range []string{"2018-04", "2018-07", "2018-09", "v2"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := heyapm.Parse(text)
		if err != nil {
			return
		}
		if r.ID == "" || r.DurationS <= 0 {
			t.Errorf("report %+v", r)
		}
		if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
			t.Errorf("counts %+v", c)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err) // a figure that is not finite
		}
	})
}
