package target

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

func parseAddr(addr string) (string, error) {
	if addr == "" {
		return defaultAddr, nil
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%q is no address; write HOST:PORT such as %s", addr, defaultAddr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q is no port; write a number from 0 to 65535", port)
	}
	return addr, nil
}

func checkServers(n int) error {
	if n < 0 || n > maxServers {
		return fmt.Errorf("%d servers are not possible; write 1 to %d, or 0 to serve all requests at once", n, maxServers)
	}
	return nil
}

// parseSize reads bytes, with or without a unit.
func parseSize(s string) (int, error) {
	if s == "" {
		s = defaultSize
	}
	digits, unit := splitUnit(s)
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n > uint64(maxSize/unit) {
		return 0, fmt.Errorf("%q is no size; write bytes or 1KiB, 1MiB, 1kB, 1MB, at most 64MiB", s)
	}
	return int(n) * unit, nil
}

func splitUnit(s string) (digits string, unit int) {
	for _, u := range []struct {
		suffix string
		bytes  int
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1e3}, {"MB", 1e6}, {"B", 1}} {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			return digits, u.bytes
		}
	}
	return s, 1
}

func parseStatus(n int) (int, error) {
	if n == 0 {
		return defaultStatus, nil
	}
	if n < 200 || n > 599 {
		return 0, fmt.Errorf("%d is no status of a final answer; write 200 to 599", n)
	}
	return n, nil
}

// parseRate reads a share of the requests.
func parseRate(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	digits, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(digits, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("%q is no share of the requests; write 1%% or 0.01, at most 100%%", s)
	}
	return x, nil
}
