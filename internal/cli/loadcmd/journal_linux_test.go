package loadcmd

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/store/spool"
)

// A full disk is said once. What was written before stays readable, and once there is room
// the journal has everything again.
func TestJournalOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	var said []error
	f := &journalFile{journal: &journal{waits: spool.Open(dir), warn: func(err error) { said = append(said, err) }}, id: "R1", head: []byte("head"), most: journalMost}
	var err error
	if f.file, err = f.waits.Begin(f.id, f.head); err != nil {
		t.Fatal(err)
	}
	n := 0
	tick := func() {
		n++
		if s := second(n, f.WantsAll()); !f.missing || s.All != nil {
			f.missing = false
			f.note(f.second(s))
		}
	}
	for f.gap = false; !f.gap; {
		tick()
	}
	full := time.Duration(n-1) * time.Second
	for range 3 * journalRetry {
		tick()
	}
	if len(said) != 1 || !errors.Is(said[0], syscall.ENOSPC) {
		t.Errorf("%v", said)
	}
	ran := func() (ran time.Duration) {
		for o, err := range f.waits.Orphans() {
			if err != nil {
				t.Fatal(err)
			}
			if _, ran, err = engine.Recover(engine.Beginning{}, kept.Left{Orphan: o}.Seconds()); err != nil {
				t.Error(err)
			}
			_ = o.Close()
		}
		return ran
	}
	if got := ran(); got != 0 {
		t.Errorf("a journal that is being written was taken: %v", got)
	}
	size := f.file.Size()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	for range 2 * journalRetry {
		tick()
	}
	if err := f.file.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ran(); got != time.Duration(n)*time.Second || got <= full || f.file.Size() >= size {
		t.Errorf("%v recovered, want %d s; %d bytes, and %d when the disk was full", got, n, f.file.Size(), size)
	}
}
