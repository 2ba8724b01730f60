package apmserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

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
