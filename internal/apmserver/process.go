package apmserver

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/service"
)

// startLocal runs the program in that place and waits until it accepts events.
func startLocal(ctx context.Context, path string, at place, o *Options) (*Running, error) {
	address, stats, err := freeAddresses()
	if err != nil {
		return nil, err
	}
	l := o.line(address, stats)
	cmd := exec.Command(path, l.args...)
	if err := at.settle(cmd, l.env...); err != nil {
		return nil, err
	}
	var to io.Writer = io.Discard
	if o.Log != nil {
		to = o.Log
	}
	o.Log.Started()
	cmd.Stdout, cmd.Stderr = to, to
	fmt.Fprintf(o.out(), "./%s %s\n", program, strings.Join(l.args, " "))
	c, err := process.Launch(cmd)
	if err != nil {
		return nil, err
	}
	go func() {
		select {
		case err := <-at.box.Guard(at.dir, c.Done()):
			fmt.Fprintln(to, "takt:", err)
			c.End(0)
		case <-c.Done():
		}
	}()
	r := &Running{
		URLs: []string{"http://" + address}, Managed: true, stats: "http://" + stats + "/stats", secret: o.Secret,
		pid: c.Pid(), done: c.Done(),
		err:  func() error { return fmt.Errorf("apm-server has ended: %s", c.State()) },
		stop: func() error { c.End(stopTime); return nil },
	}
	return r, r.await(ctx, o)
}

// await waits until the server accepts events, and stops it on failure.
func (r *Running) await(ctx context.Context, o *Options) (err error) {
	r.Version, err = ready(ctx, r.URLs[0], o, r)
	if err != nil {
		_ = r.Stop() // the first error is the cause
	}
	return err
}

// freeAddresses are two unused addresses on loopback, for events and for counters.
func freeAddresses() (events, stats string, err error) {
	ports, err := service.FreePorts(2)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1]), nil
}

// out is the writer for narration.
func (o *Options) out() io.Writer {
	if o.Out == nil {
		return io.Discard
	}
	return o.Out
}
