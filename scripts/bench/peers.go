package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// The programs to measure, by tool. A missing program has no entry.
var programs = map[string]string{}

// missing lists the missing programs, for the page.
var missing []string

const taktBinary = "bin/takt"

// findPeers looks for the programs. takt and hey are built from this module.
func findPeers() error {
	for _, build := range [][]string{
		{"go", "build", "-o", "bin/hey", "github.com/rakyll/hey"},
		{"make", "-s", "build"},
	} {
		if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(build, " "), err, out)
		}
	}
	programs["takt"], programs["hey"], programs["java"] = taktBinary, "bin/hey", "java" // which comes with scripts/servers
	programs["clock"] = os.Args[0]                                                      // see runClock
	if path, err := exec.LookPath("wrk"); err == nil {
		programs["wrk"] = path
	} else {
		missing = append(missing, "wrk (Debian package wrk)")
	}
	if path, err := exec.LookPath("h2load"); err == nil {
		programs["h2load"] = path
	} else {
		missing = append(missing, "h2load (Debian package nghttp2-client)")
	}
	if path := os.Getenv("WRK2"); path != "" {
		programs["wrk2"] = path
	} else {
		missing = append(missing, "wrk2 (give its binary with WRK2=PATH)")
	}
	return nil
}

// result is one run of one variant.
type result struct {
	rate    float64       // requests per second
	cpu     time.Duration // per request, of the client, user and system
	user    time.Duration // the part of cpu in user mode
	broker  time.Duration // per request, of the server; 0: not measured
	p50     float64       // response time, ms; 0: the tool does not report it
	p99     float64
	rss     int64        // highest memory, bytes
	lag     takt.Latency // schedule lag; zero if the tool does not report it
	service takt.Latency
	delay50 float64 // median send delay, µs
	delay99 float64 // p99 of the send delay, µs
	gc      uint32
	valid   bool
}

// variant is a tool with its settings.
type variant struct {
	name string
	tool string
	args []string // with the placeholders URL, SECONDS and LIBS
	pin  string   // cores for taskset; "": not pinned
}

// run runs the tool once.
func (v variant) run(s server, length time.Duration) (result, error) {
	args := v.command(s, length)
	switch v.tool {
	case "clock":
		return runClock(length), nil
	case "java":
		return runWarm(args)
	case "artemis":
		return runPerf(args)
	}
	cmd := exec.Command(args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	r, requests, err := read(v.tool, stdout.Bytes())
	if err != nil {
		return r, fmt.Errorf("%w in %s", err, stdout.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r.cpu = time.Duration((usage.Utime.Nano() + usage.Stime.Nano()) / int64(requests))
	r.user = time.Duration(usage.Utime.Nano() / int64(requests))
	r.rss = usage.Maxrss << 10
	return r, nil
}

func (v variant) command(s server, length time.Duration) []string {
	var args []string
	if v.pin != "" {
		args = append(args, "taskset", "-c", v.pin)
	}
	program := programs[v.tool]
	if v.tool == "artemis" {
		program = s.libs + "/bin/artemis" // comes with the broker
	}
	args = append(args, program)
	fill := strings.NewReplacer("SECONDS", strconv.Itoa(int(length.Seconds())), "TLSURL", s.at("https", 1), "CLEARURL", s.at("http", 2), "URL", s.url, "LIBS", s.libs)
	for _, a := range v.args {
		args = append(args, fill.Replace(a))
	}
	return args
}

var (
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkRequests = regexp.MustCompile(`(\d+) requests in`)
	loadRate    = regexp.MustCompile(`finished in [^,]+, ([0-9.]+) req/s`)
	loadCount   = regexp.MustCompile(`, (\d+) succeeded, 0 failed, 0 errored`)
	heyRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	heyCount    = regexp.MustCompile(`\[200\]\s+(\d+) responses`)
)

// read parses what the tool printed.
func read(tool string, out []byte) (r result, requests uint64, err error) {
	switch tool {
	case "takt":
		return readTakt(out)
	case "wrk", "wrk2":
		return readText(out, wrkRate, wrkRequests)
	case "h2load":
		return readText(out, loadRate, loadCount)
	default:
		return readText(out, heyRate, heyCount)
	}
}

func readText(out []byte, rate, count *regexp.Regexp) (r result, requests uint64, err error) {
	a, b := rate.FindSubmatch(out), count.FindSubmatch(out)
	if a == nil || b == nil {
		return r, 0, errors.New("no rate")
	}
	r.rate, err = strconv.ParseFloat(string(a[1]), 64)
	if err == nil {
		requests, err = strconv.ParseUint(string(b[1]), 10, 64)
	}
	r.valid = true
	return r, max(1, requests), err
}

func readTakt(out []byte) (r result, requests uint64, err error) {
	var report takt.Report
	if err := json.Unmarshal(out, &report); err != nil {
		return r, 0, err
	}
	if report.Counts.Failed > 0 {
		return r, 0, fmt.Errorf("%d failed: %v", report.Counts.Failed, report.Errors)
	}
	r = result{
		rate: report.Rate.Achieved, lag: report.Latency["schedule_lag"], service: report.Latency["service"],
		delay50: report.Latency["send_delay"].P50, delay99: report.Latency["send_delay"].P99,
		p50: report.Latency["response"].P50 / 1e3, p99: report.Latency["response"].P99 / 1e3,
		gc: report.Generator.GCCycles, valid: report.Verdict == takt.Valid,
	}
	return r, max(1, report.Counts.OK+report.WarmupCounts.OK), nil
}
