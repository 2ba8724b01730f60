//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spool

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

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
	if left, err := filepath.Glob(filepath.Join(s.Dir(), ".takt-*")); err != nil || got != 2*each || len(left) > 0 {
		t.Errorf("%d reports, want %d; left over: %q", got, 2*each, left)
	}
}
