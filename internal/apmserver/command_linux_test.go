package apmserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What a command leaves behind in its group is killed with its end.
func TestGroupEndsWithItsLeader(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "sleep 600 & echo started")
	cmd.Stdout = &out
	c, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-c.done
	// A sleep that had outlived the shell would hold the pipe, and Wait give ErrWaitDelay.
	if c.err != nil || out.String() != "started\n" {
		t.Errorf("%v, %q", c.err, &out)
	}
	c.end(time.Hour) // has no effect
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
	c, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	begun := make([]byte, 8)
	if _, err := io.ReadFull(r, begun); err != nil || string(begun) != "started\n" {
		t.Fatal(err)
	}
	c.end(time.Millisecond)
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 { // ends when nobody has the pipe
		t.Errorf("%q, %v", rest, err)
	}
	if c.cmd.ProcessState.String() != "signal: killed" {
		t.Error(c.cmd.ProcessState)
	}
}

func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := writer(func() { cancel() })
	if err := (place{dir: t.TempDir()}).run(ctx, cancelling, "sh", "-c", "echo a; exec sleep 600"); err != context.Canceled {
		t.Error(err)
	}
}

type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// A takt that is killed leaves no server behind.
func TestNoOrphan(t *testing.T) {
	path, err := fakeServer()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanVariable+"="+path)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Process.Kill()
	var url string
	if _, err := fmt.Fscanln(out, &url); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // signal: killed
	// The server would wait for a request until the end of days; if it dies the kernel
	// closes the connection.
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
		t.Errorf("%d bytes, %v: the server lives on", n, err)
	}
}
