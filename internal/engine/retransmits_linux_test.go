package engine_test

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// A server that takes no connections makes TCP ask again after a second: the report says so.
func TestRetransmits(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprint("127.0.0.1:", name.(*syscall.SockaddrInet4).Port)
	dial := func(_ context.Context, _ *takt.Op, r *takt.Result) {
		c, err := net.DialTimeout("tcp", addr, 1500*time.Millisecond)
		if err != nil {
			r.Class, r.Err = "timeout", err
			return
		}
		t.Cleanup(func() { c.Close() }) // a closed one would leave the queue
	}
	p := plan(t, options("max", 0, 30), dial)
	p.Requests, p.Drain = 30, engine.DrainOf(20*time.Second) // until all dials have given up
	p.Source, _ = p.Options.Source()
	p.NewWaiter = nil
	rep := run(t, t.Context(), p)
	if rep.Generator.Retransmits < 10 || !rep.Warned("retransmits") {
		t.Errorf("%d retransmits, warnings %v, counts %+v", rep.Generator.Retransmits, rep.Warnings, rep.Counts)
	}
}
