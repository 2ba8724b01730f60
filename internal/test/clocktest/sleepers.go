package clocktest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/pkg/hist"
)

// A machine is noisy if one of these limits is reached.
const (
	noisyLate  = 500 * time.Microsecond // p99 of plain sleeps
	noisySteal = 0.01                   // of the time of all cores, taken by the hypervisor
)

// quietness says how quiet the machine was during a run.
type quietness struct {
	late  time.Duration // how late plain sleeps ended, p99
	steal float64       // 0.01 is 1 % of the time of all cores
}

// String says why a run cannot be judged; it is empty on a quiet machine.
func (q quietness) String() string {
	switch {
	case q.late >= noisyLate:
		return fmt.Sprintf("sleeps ended %.1f ms late at p99", q.late.Seconds()*1e3)
	case q.steal >= noisySteal:
		return fmt.Sprintf("the hypervisor took %.1f %% of the time", 100*q.steal)
	}
	return ""
}

// Sleepers are threads, one for each core, that wake every millisecond and do nothing: no program
// can be more punctual on this machine during the run. They run in their own process, because
// such a thread occupies a P of Go's scheduler. In the test's process the worker mode and Go's
// timers would have no P left.
type Sleepers struct {
	t       testing.TB
	process *exec.Cmd
	before  proc.Usage

	mu      sync.Mutex // held from a question to its answer
	ask     io.WriteCloser
	answers *bufio.Scanner
}

// asSleepers turns a test binary into the process of the sleepers.
const asSleepers = "TAKT_SLEEPERS"

// init runs the whole program of that process, so no package needs a TestMain for it.
func init() {
	if os.Getenv(asSleepers) != "" {
		sleepUntilClosed(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}

// Watch starts sleepers on one core, for a run that disturbs the other cores on purpose. noise ends
// the sleepers and says why the run cannot be judged; "": it can.
func Watch(t testing.TB, core int) (noise func() string) {
	t.Helper()
	s := sleepAs(t, exec.Command("taskset", "-c", strconv.Itoa(core), os.Args[0]))
	return func() string { return s.stop().String() }
}

// sleep starts sleepers and returns when all of them have slept once.
func sleep(t testing.TB) *Sleepers {
	t.Helper()
	return sleepAs(t, exec.Command(os.Args[0]))
}

// sleepAs starts sleepers by a command that runs this test binary.
func sleepAs(t testing.TB, process *exec.Cmd) *Sleepers {
	t.Helper()
	s := &Sleepers{t: t, process: process}
	s.process.Env, s.process.Stderr = append(os.Environ(), asSleepers+"=1"), os.Stderr
	out, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.answers = bufio.NewScanner(out)
	if s.ask, err = s.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // for a test that ends within a run
		_ = s.ask.Close()
		_ = s.process.Wait()
	})
	s.answer()
	s.before = proc.Self()
	return s
}

// Late is the p99 of the lateness of all sleeps so far.
func (s *Sleepers) Late() time.Duration {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.ask, "\n"); err != nil {
		s.t.Fatalf("the sleepers are gone: %v", err)
	}
	return s.answer()
}

func (s *Sleepers) answer() time.Duration {
	s.t.Helper()
	if !s.answers.Scan() {
		s.t.Fatalf("the sleepers are gone: %v", s.answers.Err())
	}
	late, err := time.ParseDuration(s.answers.Text())
	if err != nil {
		s.t.Fatal(err)
	}
	return late
}

func (s *Sleepers) stop() quietness {
	s.t.Helper()
	span := proc.Self().Since(s.before)
	q := quietness{s.Late(), span.Share(span.Steal)}
	_ = s.ask.Close()
	_ = s.process.Wait()
	return q
}

// sleepUntilClosed sleeps until in is closed. It writes a line when each thread has slept once, and
// then answers each line with the p99 of the lateness.
func sleepUntilClosed(in io.Reader, out io.Writer) {
	runtime.GOMAXPROCS(2*runtime.NumCPU() + 1)
	begun, list := time.Now(), make([]*sleeper, runtime.NumCPU())
	var first sync.WaitGroup
	for i := range list {
		s := &sleeper{ended: hist.New()}
		list[i] = s
		first.Add(1)
		go func() {
			w := pace.Precise(begun)
			s.start(w.Now())
			w.Until(w.Now()+time.Millisecond, nil)
			first.Done()
			for {
				due := s.next()
				w.Until(due, nil)
				s.woke(w.Now())
			}
		}()
	}
	first.Wait()
	fmt.Fprintln(out, time.Duration(0))
	for _, s := range list { // the start of the process does not count
		s.start(time.Since(begun))
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		all, now := hist.New(), time.Since(begun)
		for _, s := range list {
			s.addTo(all, now)
		}
		fmt.Fprintln(out, all.Quantile(0.99))
	}
}

// sleeper is one thread that sleeps until each millisecond.
type sleeper struct {
	mu    sync.Mutex
	due   time.Duration // the end of the current sleep
	ended *hist.Histogram
}

// start discards the sleeps so far.
func (s *sleeper) start(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = now + time.Millisecond
	s.ended.Reset()
}

func (s *sleeper) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.due
}

// woke counts a sleep, unless a concurrent start has moved due beyond now.
func (s *sleeper) woke(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now >= s.due {
		s.ended.Record(now - s.due)
		s.due += time.Millisecond
	}
}

// addTo adds to all the sleeps that ended, and those that should have ended by now. Without the
// latter, a thread that gets no core would look punctual.
func (s *sleeper) addTo(all *hist.Histogram, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all.Merge(s.ended)
	for due := s.due; due < now; due += time.Millisecond {
		all.Record(now - due)
	}
}
