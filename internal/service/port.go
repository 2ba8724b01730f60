package service

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/proc"
)

// PortMark is replaced by the port of a server.
const PortMark = "{{.Port}}"

// HasPort reports whether one of the texts has the mark.
func HasPort(texts ...string) bool { return strings.Contains(strings.Join(texts, " "), PortMark) }

func withPort(text string, port int) string {
	return strings.ReplaceAll(text, PortMark, strconv.Itoa(port))
}

// Range of ports to choose from. The system gives ports from the range of LocalPorts to outgoing
// connections, so the load itself could get the port of a server between two starts.
const (
	lowestPort  = 20000
	highestPort = 32000
	portTries   = 200
)

// FreePort returns a port of 127.0.0.1 that nobody uses. Another process may use it before the
// server does; then the server says so and ends.
func FreePort() (int, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// FreePorts is FreePort for n different ports.
func FreePorts(n int) (ports []int, err error) {
	high := highestPort
	if low, _ := proc.LocalPorts(); low > lowestPort+1000 {
		high = min(high, low)
	}
	for range portTries * n {
		port := lowestPort + rand.IntN(high-lowestPort)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		defer l.Close() // held until all are found
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("there is no free port from 20000 to 32000 on 127.0.0.1")
}

// anyCertificate is for the question whether a server is ready: that of a test is often self-signed.
func anyCertificate() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
