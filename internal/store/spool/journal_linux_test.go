package spool

import (
	"errors"
	"syscall"
	"testing"
)

// On a full disk the journal stays as it was, and goes on when there is room again.
func TestJournalOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := Open(dir)
	j := begin(t, s, id)
	appendAll(t, j, "one")
	large := make([]byte, 300<<10)
	if err := j.Append(large); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("appended: %v", err)
	}
	if err := j.Replace(large); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("replaced: %v", err)
	}
	appendAll(t, j, "two")
	leave(t, j)
	wantOrphans(t, s, map[string][]string{id + journalFile: {"head of " + id, "one", "two"}})
}
