package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
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

// A mutant may take three times as long as the unchanged code, plus 3 s because the machine may do
// other work meanwhile.
const (
	slower = 3
	extra  = 3 * time.Second
)

// mostMemory limits the address space of a test, because some mutants never stop allocating.
const mostMemory = 6 << 30

// runner builds and runs the mutants of one target after the other in its own folder.
type runner struct {
	ctx      context.Context // ends with a signal
	dir      string
	overlay  string                   // file with all mutants of functions
	together map[string]string        // test binaries with all mutants of functions, by folder
	limits   map[string]time.Duration // time limit of each guard
	first    map[string]guard         // the test that killed the last mutant of a function
}

// try runs the guards of a mutant until one of them fails. First it runs the one test that killed the
// last mutant of the same function.
func (r *runner) try(m *mutant) (fate, error) {
	guards := m.target.guards
	if g, ok := r.first[m.function]; ok {
		guards = append([]guard{g}, guards...)
	}
	for _, g := range guards {
		if f, err := r.guarded(g, m); f != survived || err != nil {
			return f, err
		}
	}
	return survived, nil
}

// guarded runs one guard. When a mutant takes too long, guarded measures the unchanged code again. If
// that now takes twice as long, too, the machine is slow and the mutant is tried again.
func (r *runner) guarded(g guard, m *mutant) (fate, error) {
	for {
		limit, err := r.limit(g)
		if err != nil {
			return broken, err
		}
		binary, err := r.binary(g.folder, m)
		if binary == "" {
			return broken, err
		}
		switch out, err := g.test(r.ctx, binary, m.number, limit); {
		case r.ctx.Err() != nil:
			return broken, r.ctx.Err()
		case err == nil:
			return survived, nil
		case !bytes.Contains(out, []byte("panic: test timed out")):
			r.remember(g, m, out)
			return killed, nil
		}
		delete(r.limits, fmt.Sprint(g))
		if now, err := r.limit(g); err != nil || now < 2*limit {
			return killed, err
		}
	}
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+) `)

// remember notes the test that failed for the next mutant of the same function.
func (r *runner) remember(g guard, m *mutant, out []byte) {
	if found := failed.FindSubmatch(out); found != nil {
		g.args = []string{"-test.run", "^" + string(found[1]) + "$"}
		r.first[m.function] = g
	}
}

// limit is how long a guard may take, from a measurement with the unchanged code.
func (r *runner) limit(g guard) (time.Duration, error) {
	name := fmt.Sprint(g)
	if d, ok := r.limits[name]; ok {
		return d, nil
	}
	binary, err := r.binary(g.folder, nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if out, err := g.test(r.ctx, binary, 0, time.Hour); r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	} else if err != nil {
		return 0, fmt.Errorf("the tests of %s fail without a mutant, so they cannot judge mutants; repair them first:\n%s", g.folder, out)
	}
	r.limits[name] = (slower*time.Since(began) + extra).Round(time.Second)
	return r.limits[name], nil
}

// test runs the guard's tests with one mutant; 0: none. Reaching the limit is an error, too.
func (g guard) test(ctx context.Context, binary string, number int, limit time.Duration) ([]byte, error) {
	// This kills a test that hangs where the timer of -test.timeout cannot stop it.
	ctx, cancel := context.WithTimeout(ctx, 2*limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"-test.failfast", "-test.paniconexit0", "-test.timeout", limit.String()}, g.args...)...)
	cmd.Dir = g.folder
	cmd.Env = append(append(os.Environ(), g.env...), "TAKT_WHOLE=1", variable+"="+strconv.Itoa(number))
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
