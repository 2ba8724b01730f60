// Command apm-server is the server of takt's tests: the decoder is apm-server's own
// library, and what it decodes is indexed in bulk. It takes the settings of apm-server
// that takt gives, and is made by make, as apm-server is.
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

// serve ends on SIGTERM, once what was accepted is indexed, for which it has 5 s.
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

// highestMemory is what the kernel says of this process, to be held against what takt
// says of it.
func highestMemory() string {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
