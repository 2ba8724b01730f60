package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The lengths of runs against Artemis, in seconds. The duration of artemis perf includes its warm-up,
// which its JVM needs.
const (
	perfWarmup, perfDuration = "10", "22"
	taktWarmup, taktDuration = "2", "10"
)

// jmsExperiments compares takt with artemis perf, which has two protocols. Neither client nor broker
// is pinned: on one core the broker would be the bottleneck.
func (b *bench) jmsExperiments() []experiment {
	const text = "The broker is Artemis 2.44.0 of scripts/servers. One producer and one consumer use one queue, with non-persistent messages of 1024 bytes. Nothing is pinned: broker and client share the cores. artemis perf is measured from its 10th second on, by its own output and the CPU time of its process; takt is measured for 10 s after a warm-up of 2 s. "
	var all []experiment
	for _, pending := range []string{"100", "1"} {
		all = append(all, experiment{
			name: "JMS, --max-pending " + pending, text: text + "In 3 rounds, the producer sends as fast as --max-pending " + pending + " allows.",
			server: server{name: "artemis"}, rounds: 3, unit: "message", table: maxTable,
			variants: []variant{
				taktJMS("takt --ack each", "--max-pending", pending),
				perf("artemis perf, CORE", "CORE", "--max-pending", pending),
				taktJMS("takt --ack batch", "--max-pending", pending, "--ack", "batch"),
				perf("artemis perf, AMQP", "AMQP", "--max-pending", pending),
			},
		})
	}
	return append(all, experiment{
		name: "JMS, 7000 messages per second", text: text + "In one round, the producer sends with --max-pending 100. Send delay is the time from the due instant of a message until it was sent; schedule lag is takt's own part of it.",
		server: server{name: "artemis"}, rounds: 1, unit: "message", table: delayTable,
		variants: []variant{
			taktJMS("takt", "--max-pending", "100", "--rate", "7000"),
			perf("artemis perf, CORE", "CORE", "--max-pending", "100", "--rate", "7000"),
			perf("artemis perf, AMQP", "AMQP", "--max-pending", "100", "--rate", "7000"),
		},
	})
}

func taktJMS(name string, more ...string) variant {
	return variant{name, "takt", append([]string{"jms", "client", "--no-store", "--progress", "none", "-o", "json", "--user", "takt", "--password", "takt",
		"--url", "tcp://URL", "--warmup", taktWarmup, "--duration", taktDuration, "queue://BENCH"}, more...), ""}
}

func perf(name, protocol string, more ...string) variant {
	options := ""
	if protocol == "CORE" {
		options = "?confirmationWindowSize=20000" // without it, a completion is not an acknowledgement
	}
	return variant{name, "artemis", append([]string{"perf", "client", "--user", "takt", "--password", "takt", "--protocol", protocol, "--url", "tcp://URL" + options,
		"--consumer-url", "tcp://URL", "--consumer-protocol", protocol, "--warmup", perfWarmup, "--duration", perfDuration, "queue://BENCH"}, more...), ""}
}

// startArtemis starts the broker and warms up its JVM. Otherwise the first client would be the
// slowest.
func (s server) startArtemis() (server, error) {
	cmd := exec.Command("scripts/servers", "--yes", "start", "artemis")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	where := strings.Fields(string(out))
	s.url, s.libs = where[0], where[1]
	s.stop = func() { _ = exec.Command("scripts/servers", "stop", "artemis").Run() }
	for _, pending := range []string{"100", "1"} {
		if _, err := taktJMS("", "--max-pending", pending).run(s, 0); err != nil {
			s.stop()
			return s, err
		}
	}
	return s, nil
}

var (
	perfSent  = regexp.MustCompile(`^--- sent: +(\d+) msg/sec`)
	perfDelay = regexp.MustCompile(`^--- aggregated delay send time: .*50\.00%: +([\d.]+) us.*99\.00%: +([\d.]+) us`)
)

// runPerf runs artemis perf and measures it from its first block of lines after warmUp to the last
// full block with messages. Its script execs the JVM, so the process is the JVM.
func runPerf(args []string) (result, error) {
	cmd := exec.Command(args[0], args[1:]...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	moments, r := followPerf(stdout, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	if len(moments) < 2 {
		return result{}, fmt.Errorf("it printed %d blocks after its warm-up: %s", len(moments), stderr.String())
	}
	measured := between(moments[0], moments[len(moments)-1])
	measured.delay50, measured.delay99 = r.delay50, r.delay99
	measured.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	return measured, nil
}

// followPerf reads the blocks. A block has only a rate; its length times the rate is its number of
// messages.
func followPerf(out interface{ Read([]byte) (int, error) }, pid int) (moments []moment, r result) {
	var first, last time.Time
	var sent float64
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := perfDelay.FindStringSubmatch(lines.Text()); m != nil {
			r.delay50, _ = strconv.ParseFloat(m[1], 64) // digits
			r.delay99, _ = strconv.ParseFloat(m[2], 64)
		}
		m := perfSent.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		rate, _ := strconv.ParseFloat(m[1], 64) // digits
		now, err := momentOf(pid)
		if err != nil || rate == 0 {
			continue // artemis perf ends, or drains
		}
		if first.IsZero() {
			first, last = now.at, now.at
		}
		sent += rate * now.at.Sub(last).Seconds()
		last = now.at
		now.records = uint64(sent)
		if now.at.Sub(first) > warmUp {
			moments = append(moments, now)
		}
	}
	if len(moments) > 1 {
		moments = moments[:len(moments)-1] // the last block may be too short
	}
	return moments, r
}

// delayTable shows how late messages are sent.
func delayTable(b *bench, e experiment, results [][]result) {
	b.printf("| | achieved/s | send delay p50 / p99, µs | p99 × artemis perf, CORE | schedule lag p99, µs | CPU µs a message |\n|---|---|---|---|---|---|\n")
	for i, v := range e.variants {
		of := func(f func(result) float64) float64 { return median(results[i], f) }
		lag := "–"
		if v.tool == "takt" {
			lag = fmt.Sprintf("%.0f", of(func(r result) float64 { return r.lag.P99 }))
		}
		b.printf("| %s | %.0f | %.0f / %.0f | %.2f | %s | %.2f |\n", v.name, of(rate),
			of(func(r result) float64 { return r.delay50 }), of(func(r result) float64 { return r.delay99 }),
			ratio(results[i], results[1], func(r result) float64 { return r.delay99 }), lag, of(cpu))
	}
}
