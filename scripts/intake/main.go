// Command apm-server replaces apm-server in takt's tests. It decodes with apm-server's own library
// and indexes the documents in bulk. It accepts the settings that takt passes to apm-server, and
// make builds it, as it builds apm-server.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "ERROR", err)
		os.Exit(1)
	}
}

// serve ends on SIGTERM or SIGINT. It first indexes what it has accepted, for at most 5 s.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s, err := settings(os.Args[1:])
	if err != nil {
		return err
	}
	x, err := newIndexer(s)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", s["apm-server.host"])
	if err != nil {
		return err
	}
	server := http.Server{Handler: newIntake(s, x).handler()}
	go x.run()
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	fmt.Fprintln(os.Stderr, "INFO listening on", l.Addr(), "and dropping", x.dropPercent, "%")
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	x.close(5 * time.Second)
	fmt.Fprintln(os.Stderr, "INFO stopped, highest memory", highestMemory())
	return nil
}

// highestMemory is the highest memory of this process by the kernel, to compare with takt's figure.
func highestMemory() string {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
