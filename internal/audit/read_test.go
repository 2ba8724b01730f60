package audit

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// endless gives the same bytes for ever.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) { return copy(p, e.text), nil }

func TestDocumentsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"endless text":   {io.MultiReader(strings.NewReader(`{"id":"`), endless{strings.Repeat("x", 4096)}), "it is longer than 1 MiB, and no report is"},
		"endless blanks": {endless{strings.Repeat(" ", 4096)}, "it is longer than 1 MiB, and no report is"},
		"many values":    {strings.NewReader(`{"intervals":[` + strings.Repeat("{},", 1<<18) + `{}]}`), "it has 524291 values, and no report has more than 524288"},
		"cut off":        {strings.NewReader(`{"id":`), "it is not JSON: unexpected EOF"},
		"text":           {strings.NewReader("hello"), "it is not JSON: invalid character 'h' looking for beginning of value"},
	} {
		if _, err := newDocuments(c.in, 1<<20, 4<<20).Next(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	d := NewDocuments(strings.NewReader(`{"a":"\",[{"} {}`))
	for range 2 {
		if _, err := d.Next(); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// So are all documents of a file together.
func TestFilesAreBounded(t *testing.T) {
	d := newDocuments(strings.NewReader(strings.Repeat(`{"a":"`+strings.Repeat("x", 1000)+`"} `, 6000)), 1<<20, 4<<20)
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = d.Next()
	}
	if err.Error() != "the file is longer than 4 MiB; give the reports in several files" || n < 4000 {
		t.Errorf("%d documents, then %v", n, err)
	}
}

// Histograms and intervals apart, a report is small; the whole of many shards less so.
func TestRest(t *testing.T) {
	for _, c := range []struct {
		shard string
		size  int
		fine  bool
	}{{"1/2", 3 << 20, true}, {"1/2", 5 << 20, false}, {"1/1", 5 << 20, true}, {"", 15 << 20, true}, {"1/1", 17 << 20, false}} {
		few, many := checker{r: &takt.Report{Warnings: make([]takt.Warning, maxWarnings)}}, checker{r: &takt.Report{Warnings: make([]takt.Warning, maxWarnings+1)}}
		few.r.Schedule.Shard, many.r.Schedule.Shard = c.shard, c.shard
		few.rest()
		if many.rest(); few.faults != nil || (many.faults != nil) != (c.shard == "1/2") {
			t.Errorf("%d warnings of %q: %v; one less: %v", maxWarnings+1, c.shard, many.faults, few.faults)
		}
		for where, r := range map[string]*takt.Report{
			"extra":     {Extra: map[string]any{"novel": strings.Repeat("x", c.size)}},
			"a warning": {Warnings: []takt.Warning{{Message: strings.Repeat("x", c.size)}}},
			"intervals": {Intervals: []takt.Interval{{HDR: strings.Repeat("x", c.size)}}},
		} {
			k := checker{r: r}
			r.Schedule.Shard = c.shard
			if k.rest(); (k.faults == nil) != (c.fine || where == "intervals") {
				t.Errorf("%d bytes in %s of %q: %v", c.size, where, c.shard, k.faults)
			}
		}
	}
}
