package process

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/proc"
)

// What a command leaves behind in its group is killed with its end.
func TestGroupEndsWithItsLeader(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "sleep 600 & echo started")
	cmd.Stdout = &out
	c, err := Launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-c.done
	// A sleep that had outlived the shell would hold the pipe, and Wait give ErrWaitDelay.
	if c.err != nil || out.String() != "started\n" {
		t.Errorf("%v, %q", c.err, &out)
	}
	c.End(time.Hour) // has no effect
}

// What does not want to end is killed, with its children.
func TestGroupThatIsDeaf(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "trap '' TERM; sleep 600 & echo started; wait")
	cmd.Stdout = w
	c, err := Launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	begun := make([]byte, 8)
	if _, err := io.ReadFull(r, begun); err != nil || string(begun) != "started\n" {
		t.Fatal(err)
	}
	c.End(time.Millisecond)
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 { // ends when nobody has the pipe
		t.Errorf("%q, %v", rest, err)
	}
	if c.cmd.ProcessState.String() != "signal: killed" {
		t.Error(c.cmd.ProcessState)
	}
}

// A process and what it starts have the CPUs that were chosen; later ones have all again.
func TestLaunchOn(t *testing.T) {
	all := slices.Concat(proc.Cores()...)
	last := all[len(all)-1]
	for _, test := range []struct {
		cpus []int
		want string
	}{{[]int{last}, fmt.Sprint(last)}, {nil, ""}} {
		var out bytes.Buffer
		cmd := exec.Command("sh", "-c", "(grep Cpus_allowed_list /proc/self/status)")
		cmd.Stdout = &out
		c, err := LaunchOn(cmd, test.cpus)
		if err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		got := strings.TrimSpace(strings.TrimPrefix(out.String(), "Cpus_allowed_list:"))
		if want := cmp.Or(test.want, proc.CPUList(all)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, err := LaunchOn(exec.Command("true"), []int{1000}); err == nil {
		t.Error("a process was started on a CPU that does not exist")
	}
}

// A paused process is stopped, with all of its group, and goes on afterwards.
func TestPause(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer c.End(0)
	child := 0
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	paused := make(chan error, 1)
	go func() { paused <- c.Pause(time.Hour) }()
	for _, pid := range []int{c.Pid(), child} {
		awaitState(t, pid, "T")
	}
	if err := pauseGroup(c.Pid(), false); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{c.Pid(), child} {
		awaitState(t, pid, "S")
	}
	c.End(0) // ends the pause, too
	if err := <-paused; err != nil {
		t.Error(err)
	}
}

// awaitState waits until the kernel says that a process is in this state.
func awaitState(t *testing.T, pid int, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.Contains(string(text), ") "+want+" ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d is not in state %s: %s, %v", pid, want, text, err)
		}
	}
}
