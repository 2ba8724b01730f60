//go:build unix

package ci_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A system that cancels a job sends a signal to the script, not to takt. takt, and so its servers, end all
// the same, and the summary says that the job was cancelled.
func TestCancelled(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		j := newJob(t).github()
		j.set("FAKE_WAITS", filepath.Join(j.tmp, "pid"))
		go func() {
			script := <-j.started
			for j.read(j.vars["FAKE_WAITS"]) == "" {
				time.Sleep(time.Millisecond)
			}
			_ = script.Signal(s) // if it ended, the test fails below
		}()
		o := j.script()
		if o.code != 143 || !strings.Contains(o.summary, "### takt verify: cancelled\n") || o.output != "verdict=cancelled\ncode=143\n" {
			t.Errorf("%v: exit code %d, %q\n%s%s", s, o.code, o.output, o.summary, o.errs)
		}
		o.erred(t, "cancelled", "SIGTERM received")
		pid, err := strconv.Atoi(j.read(j.vars["FAKE_WAITS"]))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it must not outlive the test
			t.Errorf("%v: takt goes on", s)
		}
	}
}
