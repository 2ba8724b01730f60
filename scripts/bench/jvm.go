package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// warmUp is how long a JVM runs before it is measured: by then its compiler has done most of its work.
const warmUp = 10 * time.Second

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// moment is the state of a program when it printed an interval.
type moment struct {
	at        time.Time
	records   uint64 // so far
	cpu, user time.Duration
}

// runWarm runs one of Kafka's programs, and measures it from the first interval that it prints after
// warmUp to the last one.
func runWarm(args []string) (result, error) {
	cmd := exec.Command(args[0], args[1:]...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	moments, last := follow(stdout, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	if len(moments) < 2 {
		return result{}, fmt.Errorf("the run was too short to print two intervals; raise -records: %s", last)
	}
	for len(moments) > 2 && moments[0].at.Sub(began) < warmUp { // a short trial is measured over its last interval
		moments = moments[1:]
	}
	r := between(moments[0], moments[len(moments)-1])
	if times := producerTimes.FindStringSubmatch(last); times != nil {
		r.p50, _ = strconv.ParseFloat(times[1], 64) // digits
		r.p99, _ = strconv.ParseFloat(times[2], 64)
	}
	r.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	return r, nil
}

func between(from, to moment) result {
	n := max(1, to.records-from.records)
	return result{
		rate: float64(n) / to.at.Sub(from.at).Seconds(), valid: true,
		cpu: (to.cpu - from.cpu) / time.Duration(n), user: (to.user - from.user) / time.Duration(n),
	}
}

var (
	// ProducerPerformance: records of the interval. Its last line, for the whole run, has
	// percentiles after the maximum, so it does not match.
	producerInterval = regexp.MustCompile(`^(\d+) records sent, .* max latency\.$`)
	// The last line of ProducerPerformance.
	producerTimes = regexp.MustCompile(`(\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th`)
	// ConsumerPerformance: time, thread, MB, MB/s, records so far.
	consumerInterval = regexp.MustCompile(`^[\d-]+ [\d:]+, \d+, [\d.]+, [\d.]+, (\d+),`)
)

// follow reads the program's output until it ends.
func follow(out io.Reader, pid int) (moments []moment, last string) {
	var records uint64
	for lines := bufio.NewScanner(out); lines.Scan(); last = lines.Text() {
		sent, received := producerInterval.FindStringSubmatch(lines.Text()), consumerInterval.FindStringSubmatch(lines.Text())
		switch {
		case sent != nil:
			n, _ := strconv.ParseUint(sent[1], 10, 64) // digits
			records += n
		case received != nil:
			records, _ = strconv.ParseUint(received[1], 10, 64)
		default:
			continue
		}
		if m, err := momentOf(pid); err == nil { // it may have ended by now
			m.records = records
			moments = append(moments, m)
		}
	}
	return moments, last
}

// momentOf is the CPU time of a process so far.
func momentOf(pid int) (moment, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return moment{}, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return moment{}, fmt.Errorf("/proc/%d/stat is %q", pid, text)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return moment{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return moment{at: time.Now(), user: time.Duration(user) * tick, cpu: time.Duration(user+system) * tick}, err
}
