package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// fate is the result of the tests for a mutant.
type fate int

const (
	killed     fate = iota // a test failed
	survived               // all tests passed
	equivalent             // listed as changing nothing, so not tested
	broken                 // does not compile, so it does not count
)

// A mutant may take three times as long as the unchanged code, plus 5 s because the machine may do
// other work meanwhile.
const (
	slower = 3
	extra  = 5 * time.Second
)

// mostMemory limits the address space of a test, because some mutants never stop allocating.
const mostMemory = 6 << 30

// runner builds and runs mutants in its own folder.
type runner struct {
	ctx    context.Context // ends with a signal
	dir    string
	limits map[string]time.Duration // time limit of each guard
}

// try runs the guards of a mutant until one of them fails.
func (r *runner) try(m *mutant) (fate, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return broken, err
	}
	for _, g := range m.target.guards {
		if f, err := r.guarded(g, overlay); f != survived || err != nil {
			return f, err
		}
	}
	return survived, nil
}

// guarded runs one guard. When a mutant takes too long, guarded measures the unchanged code again. If
// that now takes twice as long, too, the machine is slow and the mutant is tried again.
func (r *runner) guarded(g guard, overlay string) (fate, error) {
	for {
		limit, err := r.limit(g)
		if err != nil {
			return broken, err
		}
		switch out, err := g.test(r.ctx, overlay, limit); {
		case r.ctx.Err() != nil:
			return broken, r.ctx.Err()
		case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
			return broken, nil
		case err == nil:
			return survived, nil
		case !bytes.Contains(out, []byte("panic: test timed out")):
			return killed, nil
		}
		delete(r.limits, fmt.Sprint(g))
		if now, err := r.limit(g); err != nil || now < 2*limit {
			return killed, err
		}
	}
}

// overlay writes the file that makes go test compile the mutant instead of the real file.
func (r *runner) overlay(m *mutant) (string, error) {
	real, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(r.dir, "mutant.go"), filepath.Join(r.dir, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{real: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, m.source, 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// limit is how long a guard may take, from a measurement with the unchanged code.
func (r *runner) limit(g guard) (time.Duration, error) {
	name := fmt.Sprint(g)
	if d, ok := r.limits[name]; ok {
		return d, nil
	}
	if out, err := g.test(r.ctx, "", time.Hour); r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	} else if err != nil { // the first run also builds, so only the second is timed
		return 0, fmt.Errorf("the tests of %s fail without a mutant, so they cannot judge mutants; repair them first:\n%s", g.folder, out)
	}
	began := time.Now()
	if out, err := g.test(r.ctx, "", time.Hour); err != nil {
		return 0, fmt.Errorf("the tests of %s passed once and then failed without a mutant; repair them first:\n%s", g.folder, out)
	}
	if r.limits == nil {
		r.limits = map[string]time.Duration{}
	}
	r.limits[name] = (slower*time.Since(began) + extra).Round(time.Second)
	return r.limits[name], nil
}

// test runs the guard's tests. Reaching the limit is an error, too.
func (g guard) test(ctx context.Context, overlay string, limit time.Duration) ([]byte, error) {
	args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout", limit.String(), "-ldflags=-s -w"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	// This kills a test that hangs where the timer of -timeout cannot stop it.
	ctx, cancel := context.WithTimeout(ctx, 2*limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(append(args, g.args...), "./"+g.folder)...)
	cmd.Env = append(os.Environ(), g.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// bound limits the memory of this process and of its children.
func bound() error {
	limit := syscall.Rlimit{Cur: mostMemory, Max: mostMemory}
	return syscall.Setrlimit(syscall.RLIMIT_AS, &limit)
}
