package stop

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestTwoSteps(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		signals []syscall.Signal
		after   time.Duration // between two of them
		cause   string
		aborted bool
	}{
		{"none", nil, ms, "", false},
		{"one", []syscall.Signal{syscall.SIGINT}, ms, "stopped by SIGINT", false},
		{"two", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, ms, "stopped by SIGTERM", true},
		{"quit", []syscall.Signal{syscall.SIGQUIT, syscall.SIGQUIT}, ms, "stopped by SIGQUIT", true},
		{"a terminal that goes away", []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP}, ms, "stopped by SIGHUP", false},
		{"and then somebody who cannot wait", []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM}, ms, "stopped by SIGHUP", true},
		{"a second hangup", []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP}, 2 * hangup, "stopped by SIGHUP", true},
		{"a hangup after Ctrl-C", []syscall.Signal{syscall.SIGINT, syscall.SIGHUP}, ms, "stopped by SIGINT", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, first, restored := make(chan os.Signal, 4), 0, 0
				s := steps(c, func() { first++ }, func() { restored++ })
				for _, signal := range test.signals {
					c <- signal
					time.Sleep(test.after)
				}
				synctest.Wait()
				cause := ""
				var e *SignalError
				if errors.As(context.Cause(s.Interrupt), &e) {
					cause = e.Error()
				}
				aborted := false
				select {
				case <-s.Abort:
					aborted = true
				default:
				}
				if cause != test.cause || aborted != test.aborted || (restored == 1) != test.aborted || (first == 1) != (test.cause != "") {
					t.Errorf("cause %q, aborted %t, restored %d, first %d", cause, aborted, restored, first)
				}
				s.Restore()
				s.Restore()
				synctest.Wait()
			})
		})
	}
}

func TestNameOfOthers(t *testing.T) {
	if got := (&SignalError{int(syscall.SIGSEGV)}).Error(); got != "stopped by signal segmentation fault" {
		t.Error(got)
	}
}
