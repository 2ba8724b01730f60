package truth_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/hist"
)

// The tests that call timing measure real time, so they run one after the other and beside
// nothing else: scripts/test sets TAKT_TIMING for a run of their own. A shared machine can
// stand still for longer than they tolerate; each may therefore try a few times, and says so.
func timing(t *testing.T) {
	t.Helper()
	if os.Getenv("TAKT_TIMING") == "" {
		t.Skip("measures real time: run by scripts/test on its own (TAKT_TIMING=1)")
	}
}

// tooLate is the lateness of plain sleeps (p99) beside which a fault says nothing.
const tooLate = 2 * time.Millisecond

// patience is how long the tests of this package wait for a machine that lets them be
// judged, all together: what is left, ns.
var patience atomic.Int64

func init() { patience.Store(int64(90 * time.Second)) }

// wants runs try until good attempts found no fault, of n at most, each beside plain sleeps.
// What an attempt finds while those end too late is no fault of takt's: then it waits for a
// quiet machine, and if there is none for long the test is skipped.
func wants(t *testing.T, good, n int, try func(*sleepers) []string) {
	t.Helper()
	for judged := 1; judged <= n; {
		begun, s := time.Now(), sleep(t)
		faults := try(s)
		late := s.stop()
		if len(faults) == 0 {
			if good--; good == 0 {
				return
			}
			judged++
			continue
		}
		if what := strings.Join(faults, "; "); late <= tooLate {
			t.Logf("attempt %d of %d: %s", judged, n, what)
			judged++
		} else {
			t.Logf("not judged, plain sleeps ended %v late: %s", late, what)
			if patience.Add(-int64(time.Since(begun))) <= 0 {
				t.Skipf("nothing can be said on this machine just now: plain sleeps end %v late (p99)", late)
			}
		}
		if judged <= n {
			settle(t)
		}
	}
	t.Fatalf("%d good attempts are missing", good)
}

// settle waits until the machine wakes who sleeps in time. A shared one has spells of
// minutes in which it does not, and in which nothing can be punctual.
func settle(t *testing.T) {
	t.Helper()
	for begun := time.Now(); patience.Load() > 0; begun = time.Now() {
		s := sleep(t)
		time.Sleep(time.Second)
		late := s.stop()
		t.Logf("plain sleeps end %v late (p99)", late)
		if late < tooLate/4 {
			return
		}
		time.Sleep(3 * time.Second)
		patience.Add(-int64(time.Since(begun)))
	}
}

// sleepers are threads, as many as there are cores, that wake at each millisecond and do
// nothing: no pacer can be more punctual on this machine just then. They have a process of
// their own, for a thread that sleeps so keeps a P of Go's scheduler, and the worker mode and
// Go's timers, which are measured beside them, would have none.
type sleepers struct {
	t       *testing.T
	process *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Scanner
}

// asSleepers has the test binary be that process.
const asSleepers = "TAKT_SLEEPERS"

func TestMain(m *testing.M) {
	if os.Getenv(asSleepers) != "" {
		sleepUntilClosed(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

func sleep(t *testing.T) *sleepers {
	t.Helper()
	s := &sleepers{t: t, process: exec.Command(os.Args[0])}
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
	t.Cleanup(func() { // of a test that ended within an attempt
		_ = s.ask.Close()
		_ = s.process.Wait()
	})
	return s
}

// late is the p99 of how late they woke until now.
func (s *sleepers) late() time.Duration {
	s.t.Helper()
	if _, err := io.WriteString(s.ask, "\n"); err != nil {
		s.t.Fatalf("the sleepers are gone: %v", err)
	}
	if !s.answers.Scan() {
		s.t.Fatalf("the sleepers are gone: %v", s.answers.Err())
	}
	late, err := time.ParseDuration(s.answers.Text())
	if err != nil {
		s.t.Fatal(err)
	}
	return late
}

func (s *sleepers) stop() (late time.Duration) {
	s.t.Helper()
	late = s.late()
	_ = s.ask.Close()
	_ = s.process.Wait()
	return late
}

// sleepUntilClosed sleeps until in ends, and answers each line with how late it woke.
func sleepUntilClosed(in io.Reader, out io.Writer) {
	runtime.GOMAXPROCS(2*runtime.NumCPU() + 1)
	var mu sync.Mutex
	h := hist.New()
	for range runtime.NumCPU() {
		go func() {
			w := pace.Precise(time.Now())
			for due := time.Millisecond; ; due += time.Millisecond {
				w.Until(due, nil)
				mu.Lock()
				h.Record(w.Now() - due)
				mu.Unlock()
			}
		}()
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		mu.Lock()
		late := h.Quantile(0.99)
		mu.Unlock()
		fmt.Fprintln(out, late)
	}
}
