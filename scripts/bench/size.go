package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"time"
)

// sizes measures takt alone: start, binary, memory, garbage.
func (b *bench) sizes() error {
	b.printf("\n### Start, size and garbage\n\n| | |\n|---|---|\n")
	if err := b.startUp(); err != nil {
		return err
	}
	s, err := server{name: "null", pin: serverCore}.start()
	if err != nil {
		return err
	}
	defer s.stop()
	many := variant{"", "takt", []string{"http", "--no-store", "--progress", "none", "-o", "json", "-c", "10000", "-z", "SECONDSs", "URL"}, clientCore}
	r, err := many.run(s, b.length)
	if err != nil {
		return err
	}
	b.printf("| RSS with 10 000 connections, closed loop | %.1f MiB, %.1f KiB for each beyond 20 MiB |\n", rss(r), (rss(r)-20)*1024/10000)
	long := variant{"", "takt", taktArgs("--rate", "100000"), clientCore}
	if r, err = long.run(s, time.Minute); err != nil {
		return err
	}
	b.printf("| garbage collections in 60 s at 100 000/s | %d (%.0f/s achieved, RSS %.1f MiB) |\n", r.gc, r.rate, rss(r))
	return b.allocations(s)
}

// startUp measures how long takt version takes, and how large the binary is.
func (b *bench) startUp() error {
	var took []time.Duration
	for range 21 {
		began := time.Now()
		if err := exec.Command(taktBinary, "version").Run(); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	size, err := binarySize()
	if err != nil {
		return err
	}
	b.printf("| `takt version`, median of 21 | %.1f ms |\n| binary | %.1f MiB |\n", took[10].Seconds()*1e3, size)
	return nil
}

// binarySize is the size of takt, in MiB.
func binarySize() (float64, error) {
	info, err := os.Stat(taktBinary)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / (1 << 20), nil
}

// allocations measures the allocations of a request, on the whole path of the loop mode.
func (b *bench) allocations(s server) error {
	cmd := exec.Command("taskset", "-c", clientCore, "go", "test", "-run", "^$", "-bench", "Modes/loop", "-benchtime", "1000000x", "./internal/engine")
	cmd.Env = append(os.Environ(), "TAKT_BENCH_ADDR="+s.addr())
	out, err := cmd.CombinedOutput()
	found := regexp.MustCompile(`(\d+) B/op\s+(\d+) allocs/op`).FindSubmatch(out)
	if err != nil || found == nil {
		return fmt.Errorf("no allocations in %s: %w", out, err)
	}
	b.printf("| allocations a request, loop mode, all recording on | %s (%s bytes) |\n", found[2], found[1])
	return nil
}
