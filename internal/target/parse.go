package target

import (
	"fmt"
	"net"
	"strconv"
)

func parseAddr(addr string) (string, error) {
	if addr == "" {
		return defaultAddr, nil
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%q is not an address; write HOST:PORT such as %s", addr, defaultAddr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q is not a port; write a number from 0 to 65535", port)
	}
	return addr, nil
}

func checkServers(n int) error {
	if n < 0 || n > maxServers {
		return fmt.Errorf("%d servers are not possible; write 1 to %d, or 0 to serve all requests at once", n, maxServers)
	}
	return nil
}

func checkSize(n int) error {
	if n < 0 || n > maxSize {
		return fmt.Errorf("%d bytes are not possible; write 0 to 64MiB", n)
	}
	return nil
}

func parseStatus(n int) (int, error) {
	if n == 0 {
		return defaultStatus, nil
	}
	if n < 200 || n > 599 {
		return 0, fmt.Errorf("%d is not the status of a final answer; write 200 to 599", n)
	}
	return n, nil
}

func checkShare(x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("%v is not a share of the requests; write 0 to 1", x)
	}
	return nil
}
