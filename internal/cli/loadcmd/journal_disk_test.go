package loadcmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/pkg/takt"
)

// journalsIn are the journals in the folder of a spool.
func journalsIn(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "*.journal")) // the pattern is fine
	return all
}

// A disk that hangs holds up neither the run nor, for long, its end; when it answers again
// the journal has everything.
func TestJournalOnADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []error
		dir := t.TempDir()
		j := &journal{
			waits: spool.Open(dir), complete: func(r *takt.Report) { r.SchemaVersion, r.ID = 1, "R1" },
			warn: func(err error) { said = append(said, err) }, seconds: make(chan engine.Second, journalRoom),
		}
		n := 0
		tick := func() {
			n++
			j.Second(second(n, j.WantsAll()))
		}
		for range journalRoom + 3 { // nobody writes yet
			tick()
		}
		if len(said) != 1 || !strings.Contains(said[0].Error(), "the disk does not answer") {
			t.Errorf("%v", said)
		}
		begin := time.Now()
		never := &journal{seconds: make(chan engine.Second), done: make(chan struct{})}
		never.end()
		if took := time.Since(begin); took != journalEnd+kept.Grace {
			t.Errorf("the end took %v", took)
		}
		close(never.done)
		j.Begin(engine.Beginning{})
		for range 2 * journalRetry {
			tick()
			synctest.Wait()
		}
		text, err := os.ReadFile(journalsIn(dir)[0])
		if err != nil || bytes.Count(text, []byte(`{"all":`)) != 1 || !bytes.HasSuffix(text, []byte("}")) {
			t.Errorf("%v: %s", err, text)
		}
		j.end()
		if list := journalsIn(dir); len(list) > 0 || len(said) != 1 {
			t.Errorf("%v, %v", list, said)
		}
	})
}

// A journal that grows long is written anew, and stays readable.
func TestJournalIsWrittenAnew(t *testing.T) {
	f := &journalFile{journal: &journal{waits: spool.Open(t.TempDir())}, id: "R1", head: []byte("head"), most: 5000}
	var err error
	if f.file, err = f.waits.Begin(f.id, f.head); err != nil {
		t.Fatal(err)
	}
	anew := 0
	for n := 1; n <= 100; n++ {
		all := f.WantsAll()
		if all {
			anew++
		}
		if err := f.second(second(n, all)); err != nil {
			t.Fatal(err)
		}
		if all {
			f.most = 5000 // it is journalMost at least
		}
	}
	if err := f.file.Close(); err != nil || anew < 3 {
		t.Errorf("written anew %d times: %v", anew, err)
	}
	for o, err := range f.waits.Orphans() {
		if err != nil {
			t.Fatal(err)
		}
		_, ran, err := engine.Recover(engine.Beginning{}, kept.Left{Orphan: o}.Seconds())
		if err := errors.Join(err, o.Close()); err != nil || ran != 100*time.Second {
			t.Errorf("%v, %v", ran, err)
		}
	}
}

// second is one of a run in which nothing happens, with all before it if that is wanted.
func second(n int, all bool) engine.Second {
	s := engine.Second{Record: record.Second{At: time.Duration(n) * time.Second, Counted: record.Counted{Histograms: make([]string, 8)}}}
	if all {
		s.All = &record.Before{At: s.Record.At - time.Second, Counted: s.Record.Counted}
	}
	return s
}
