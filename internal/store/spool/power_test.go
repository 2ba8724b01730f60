//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spool

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

const sector = 512 // bytes that a disk writes whole, or not at all

// disk is what a file is on a disk that loses its power: what was synced is there, and of each
// sector written since then nobody knows.
type disk struct {
	synced []byte
	size   int // of the file, with what was written since
}

// lost is what is left of the file after a loss of power. written is what the process saw.
func (d disk) lost(r *rand.Rand, written []byte) []byte {
	size := len(d.synced) + r.IntN(d.size-len(d.synced)+1)
	left := make([]byte, size) // a sector that never came is zero
	copy(left, d.synced)
	for at := len(d.synced) / sector * sector; at < size; at += sector {
		if r.IntN(3) > 0 {
			copy(left[at:min(at+sector, size)], written[at:min(at+sector, size)])
		}
	}
	return left
}

// After a loss of power a journal has all records that were synced, maybe some after them, and
// no other: whatever sectors the disk had written, in whatever order.
func TestPowerLoss(t *testing.T) {
	s := fresh(t)
	more := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0x706f776572))
		j := begin(t, s, id)
		var all []string
		onDisk := disk{size: int(j.Size())}
		kept := 0
		sync := func() {
			text, err := os.ReadFile(j.path)
			if err != nil {
				t.Fatal(err)
			}
			onDisk.synced, kept = text, len(all)
		}
		sync() // Begin does
		for range r.IntN(12) {
			switch r.IntN(8) {
			case 0:
				if err := j.Sync(); err != nil {
					t.Fatal(err)
				}
				sync()
			case 1: // a state takes the place of all records
				all = []string{text(r)}
				if err := j.Replace([]byte(all[0])); err != nil {
					t.Fatal(err)
				}
				sync()
			default:
				all = append(all, text(r))
				appendAll(t, j, all[len(all)-1])
			}
		}
		onDisk.size = int(j.Size())
		leave(t, j)
		written, err := os.ReadFile(j.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(j.path, onDisk.lost(r, written), 0o600); err != nil {
			t.Fatal(err)
		}
		got, faults := orphans(t, s)
		for _, list := range got {
			list = list[1:] // the head
			if len(list) < kept || len(list) > len(all) || !slices.Equal(list, all[:len(list)]) {
				t.Fatalf("seed %d: %d records, synced were %d of %d", seed, len(list), kept, len(all))
			}
			more += len(list) - kept
		}
		if len(got) != 1 || faults != nil {
			t.Fatalf("seed %d: %d journals, %v", seed, len(got), faults)
		}
		if err := os.Remove(j.path); err != nil {
			t.Fatal(err)
		}
	}
	if more == 0 {
		t.Error("no record that was not synced was ever read: the disk loses too much to test anything")
	}
}

func text(r *rand.Rand) string {
	b := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, 1+r.IntN(3000))
	for i := range min(len(b), 40) {
		b[i] = byte(r.IntN(256))
	}
	return string(b)
}
