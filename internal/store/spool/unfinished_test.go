//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// unfinished lists the files that were begun.
func unfinished(t *testing.T, s *Spool) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(s.Dir(), "*"+unfinishedFile))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A file whose process was killed before the file had its name is removed by the next one that looks.
// Those of processes that go on stay, however old they are.
func TestSweep(t *testing.T) {
	s := fresh(t)
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	live, err := s.create()
	if err != nil {
		t.Fatal(err)
	}
	dead, err := s.create()
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x")
	if err := errors.Join(dead.Close(), os.WriteFile(outside, nil, 0o600), os.Symlink(outside, filepath.Join(s.Dir(), "link.tmp")), os.Mkdir(filepath.Join(s.Dir(), "folder.tmp"), 0o700)); err != nil {
		t.Fatal(err)
	}
	wantOrphans(t, s, nil)
	if _, err := os.Stat(dead.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of a process that is gone: %v", err)
	}
	if _, err := os.Stat(live.Name()); err != nil {
		t.Errorf("the file of a process that goes on: %v", err)
	}
	if _, err := os.Stat(outside); err != nil || len(unfinished(t, s)) != 3 {
		t.Errorf("%v, %q", err, unfinished(t, s))
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	wantOrphans(t, s, nil)
	if _, err := os.Stat(live.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
}

// Sweeping costs no report and no journal, at whatever moment it comes.
func TestSweepBesideWriters(t *testing.T) {
	s := fresh(t)
	const each = 30
	var writers, sweepers sync.WaitGroup
	over := make(chan struct{})
	for range 3 {
		sweepers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				for o, err := range s.Orphans() {
					t.Errorf("%v, %v", o, err)
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := s.Add(&takt.Report{SchemaVersion: takt.SchemaVersion, ID: id}, ""); err != nil {
					t.Errorf("report %s: %v", id, err)
				}
				j, err := s.Begin(id, []byte("head"))
				if err != nil {
					t.Errorf("journal %s: %v", id, err)
					continue
				}
				if err := errors.Join(j.Replace([]byte("one")), j.Remove()); err != nil {
					t.Errorf("journal %s: %v", id, err)
				}
			}
		})
	}
	writers.Wait()
	close(over)
	sweepers.Wait()
	got := 0
	for _, err := range s.Each() {
		if err != nil {
			t.Error(err)
		}
		got++
	}
	if left := unfinished(t, s); got != 2*each || len(left) > 0 {
		t.Errorf("%d reports, want %d; left over: %q", got, 2*each, left)
	}
}
