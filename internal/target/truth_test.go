package target

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// replay feeds the truth's arrivals and services to the theory, which must give
// what the server did, to the nanosecond.
func replay(t *testing.T, truth *Truth, f Freeze) {
	t.Helper()
	var due, service []time.Duration
	for _, r := range truth.Records {
		due, service = append(due, r.Arrival), append(service, r.Service)
	}
	for i, response := range simulate(due, service, truth.Servers, f.Windows(time.Hour)...) {
		r := truth.Records[i]
		if r.End-r.Arrival != response || r.Start < r.Arrival || r.Released < r.End {
			t.Fatalf("record %d is %+v; theory says it ends at %v", i, r, r.Arrival+response)
		}
	}
}

func TestTruthIsTheQueue(t *testing.T) {
	for _, o := range []Options{
		{Service: "exp(1ms)", Servers: 1},
		{Service: "lognormal(1ms,1)", Servers: 3, Freeze: "10ms/35ms"},
		{Service: "uniform(0,2ms)", Freeze: "20ms/50ms"},
		{Service: "0", Servers: 2, Freeze: "5ms/10ms"},
	} {
		s, stop := start(t, o)
		if got := load(t, s.URL(), 10, 20); got[200] != 200 {
			t.Errorf("%+v: %v", o, got)
		}
		stop()
		truth, f := s.Truth(), s.desk.freeze
		if len(truth.Records) != 200 || truth.Counts.OK != 200 || truth.Records[0].Arrival > time.Second {
			t.Fatalf("%+v: %+v, %d records", o, truth.Counts, len(truth.Records))
		}
		replay(t, truth, f)
		outsideFreezes(t, truth)
	}
}

// outsideFreezes: nothing starts within a freeze, or ends inside one.
func outsideFreezes(t *testing.T, truth *Truth) {
	t.Helper()
	for _, w := range truth.Freezes {
		for _, r := range truth.Records {
			if r.Start >= w.Start && r.Start < w.End || r.End > w.Start && r.End < w.End {
				t.Fatalf("%+v in the freeze %+v", r, w)
			}
		}
	}
}

// A serial server with ten clients is overloaded: everyone waits for the nine in
// front, and it is never idle.
func TestSerialOverload(t *testing.T) {
	s, stop := start(t, Options{Service: "2ms", Servers: 1})
	began := time.Now()
	load(t, s.URL(), 10, 10)
	took := time.Since(began)
	stop()
	truth := s.Truth()
	replay(t, truth, Freeze{})
	if took < 200*ms {
		t.Errorf("100 requests of 2 ms in %v", took)
	}
	if last := truth.Records[99]; last.End < 200*ms {
		t.Errorf("last record %+v", last)
	}
}

func TestTruthFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.json")
	s, stop := start(t, Options{Service: "1ms", Servers: 2, Freeze: "5ms/10ms", ErrorRate: 0.3, HalfOpenRate: 0, Truth: path})
	load(t, s.URL(), 4, 10)
	stop()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got Truth
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := s.Truth()
	if !got.StartedAt.Equal(want.StartedAt) || len(got.Freezes) == 0 || len(got.Records) != 40 {
		t.Errorf("file %+v", got)
	}
	got.StartedAt = want.StartedAt
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("file %+v\nserver %+v", got, want)
	}
}

func TestRecordJSON(t *testing.T) {
	r := Record{1, 2, 3, 4, -1, HalfOpen, 0}
	text, err := json.Marshal(r)
	if want := `[1,2,3,4,-1,"half_open",0]`; string(text) != want || err != nil {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	for _, bad := range []string{`[1,2,3,4,-1,"lost",0]`, `[1,2]`, `[1,2,3,4,5,"ok"]`, `[1,2,3,4,5,"ok",7,8]`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// A full ledger goes on counting and says what it left out.
func TestLedgerIsBounded(t *testing.T) {
	var l ledger
	for range maxRecords + 5 {
		l.close(l.open(entry{outcome: Error}), Error, time.Hour)
	}
	if l.skipped != 5 || l.counts.Requests != maxRecords+5 || l.counts.Errors != maxRecords+5 || l.counts.Unfinished != 0 {
		t.Errorf("skipped %d, %+v", l.skipped, l.counts)
	}
	last := l.pieces[len(l.pieces)-1]
	if e := last[len(last)-1]; e.late != unreleased-1 {
		t.Errorf("lateness of an hour is %d", e.late)
	}
}
