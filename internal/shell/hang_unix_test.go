//go:build unix

package shell

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// dump does not wait for the reader of a pipe.
func TestDumpToPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeBelow(dir, "pipe", []byte("x")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// The server does not wait at its start for whoever reads its audit log.
func TestAuditToPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Listen(Options{Addr: "127.0.0.1:0", DumpDir: filepath.Join(dir, "dumps"), AuditLog: pipe}, Host{})
	if err == nil || !strings.Contains(err.Error(), "the audit log cannot be written: open "+pipe+": it is a pipe") || !strings.HasSuffix(err.Error(), "check --audit-log") {
		t.Error(err)
	}
}

// A session that hangs in a call of the system does not keep the server from its end.
func TestEndsInSpiteOfHang(t *testing.T) {
	hang := make(chan struct{})
	hangs := make(chan struct{})
	o := Options{DumpDir: filepath.Join(t.TempDir(), "dumps"), Unix: filepath.Join(t.TempDir(), "socket")}
	s, err := Listen(o, Host{Plan: func([]string, Rules) (Plan, error) {
		close(hangs)
		<-hang
		return Plan{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.patience = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx, nil) // "context canceled"
	}()
	conn, err := net.Dial("unix", o.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, "runs")
	<-hangs
	cancel()
	<-ended
	close(hang)
}

// A command beside the queue that does not hear SIGINT is killed when its session ends, not at the
// end of its time.
func TestHangsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{lobby: newLobby(), immediate: make(chan struct{}, 1)}
		s.host.Run = func(_ context.Context, abort <-chan struct{}, _ Call) int {
			<-abort
			return 137
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := &session{server: s, ctx: ctx}
		var all sync.WaitGroup
		begun := time.Now()
		all.Go(func() { _, _ = c.wait(Call{}) })
		synctest.Wait()
		cancel()
		all.Wait()
		if took := time.Since(begun); took != immediateGrace {
			t.Errorf("it took %v", took)
		}
	})
}
