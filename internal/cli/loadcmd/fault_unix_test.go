//go:build unix

package loadcmd

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a command leaves in its group ends with it, also if it ignores the first signal. The end of the pipe
// comes when no process of the command has it open.
func TestFaultsLeaveNothing(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var in *os.File
	list := injected(t, []fault{{"trap '' TERM; (echo begun; exec sleep 1000) >" + pipe + " 2>&1 & wait", 0, 0}}, func(*injector) {
		var err error
		if in, err = os.Open(pipe); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(in, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
	})
	defer in.Close()
	if len(list) != 1 || !list[0].Stopped {
		t.Errorf("%+v", list)
	}
	_ = in.SetReadDeadline(time.Now().Add(time.Minute))
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("the rest of the command goes on: %q, %v", rest, err)
	}
}
