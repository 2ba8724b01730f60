//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"syscall"
	"time"
)

// guardTime is the time between two looks at the disk. At 2 GB/s, a program writes 0.2 GB in it.
const guardTime = 100 * time.Millisecond

// defaultReserve leaves room for takt's own files, in bytes.
const defaultReserve = 1 << 30

// Guard watches the disks that a program in the sandbox of dir may fill, until done is closed. It
// sends a reason to end the program, once; never without a sandbox.
func (s *Sandbox) Guard(dir string, done <-chan struct{}) <-chan error {
	if s == nil {
		return nil
	}
	full := make(chan error, 1)
	home, err := s.homeOf(dir)
	if err != nil {
		home = dir
	}
	go func() {
		tick := time.NewTicker(guardTime)
		defer tick.Stop()
		for {
			for _, path := range []string{dir, home} {
				if left := s.left(path); left < s.reserve() {
					full <- fmt.Errorf("the disk of %s has %d MiB left, and the sandbox leaves %d MiB for others; free some", path, left>>20, s.reserve()>>20)
					return
				}
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return full
}

func (s *Sandbox) reserve() uint64 {
	if s.options.Reserve > 0 {
		return s.options.Reserve
	}
	return defaultReserve
}

// left is the free space that users other than root have at a path, in bytes.
func (s *Sandbox) left(path string) uint64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return s.reserve() // unknown
	}
	return st.Bavail * uint64(st.Bsize)
}
