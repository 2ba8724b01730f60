package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// experiment is one table.
type experiment struct {
	name, text string
	server     server
	variants   []variant // the first is takt, the second the peer to compare with
	table      func(b *bench, e experiment, results [][]result)
	unit       string // what is counted: request, record, message
	rounds     int    // 0: the flag -rounds
	count      int    // operations of each run, for the CPU of the server; 0: unknown
}

// The cores: the first for the server, the last for the client.
const serverCore, clientCore = "0", "1"

func (b *bench) experiments() []experiment {
	var all []experiment
	for _, place := range []struct{ name, text, server, client string }{
		{"pinned", "The server has one core, the client another.", serverCore, clientCore},
		{"unpinned", "Nothing is pinned: client and server share the cores.", "", ""},
	} {
		for _, s := range []struct{ name, text string }{
			{"null", "The server is `takt target --null`, so the client is the bottleneck."},
			{"nginx", "The server is nginx with one worker, which answers 200 with 100 bytes (`return 200` in scripts/nginx.conf)."},
		} {
			all = append(all, experiment{
				name:     "Most requests per second, " + s.name + ", " + place.name,
				text:     s.text + " " + place.text + " Closed loop, 50 connections. wrk" + sameRequest,
				server:   server{name: s.name, pin: place.server},
				variants: closedLoops(place.client),
				table:    maxTable,
				unit:     "request",
			})
		}
	}
	for _, rate := range []int{1_000, 10_000, 50_000, 100_000} {
		all = append(all, experiment{
			name:     fmt.Sprintf("%d requests per second", rate),
			text:     "nginx has one core, the client another; 50 connections. wrk2" + sameRequest + " Schedule lag is the generator's own lateness, by its own report; wrk2 does not report it. The last row is the floor. On the client's core, a thread only reads the clock, while the server's core is busy, too; the figures are how late it notices 100 000 instants a second.",
			server:   server{name: "nginx", pin: serverCore},
			variants: fixedRates(rate, clientCore),
			table:    rateTable,
		})
	}
	return slices.Concat(all, b.secureExperiments(), b.kafkaExperiments(), b.jmsExperiments())
}

func taktArgs(more ...string) []string {
	return append([]string{"http", "--no-store", "--progress", "none", "-o", "json", "-c", "50", "-z", "SECONDSs"}, append(more, "URL")...)
}

// sameRequest follows the name of a peer. Two more headers cost nginx 7 % of the instructions for a
// request, so wrk and wrk2 send takt's headers, too.
const sameRequest = " sends the same two headers as takt, so the server has the same work."

func wrkArgs(more ...string) []string {
	return append([]string{"-t1", "-c50", "-dSECONDSs", "-H", "User-Agent: takt", "-H", "Accept-Encoding: gzip"}, append(more, "URL")...)
}

func closedLoops(pin string) []variant {
	return present([]variant{
		{"takt", "takt", taktArgs(), pin},
		{"wrk", "wrk", wrkArgs(), pin},
		{"takt, worker mode", "takt", taktArgs("--engine", "worker"), pin},
		{"hey", "hey", []string{"-c", "50", "-z", "SECONDSs", "URL"}, pin},
	})
}

func fixedRates(rate int, pin string) []variant {
	r := fmt.Sprint(rate)
	return present([]variant{
		{"takt", "takt", taktArgs("--rate", r), pin},
		{"takt --pacing precise", "takt", taktArgs("--rate", r, "--pacing", "precise"), pin},
		{"takt --pacing economy", "takt", taktArgs("--rate", r, "--pacing", "economy"), pin},
		{"takt, worker mode", "takt", taktArgs("--rate", r, "--engine", "worker"), pin},
		{"wrk2", "wrk2", wrkArgs("-R" + r), pin},
		{"floor", "clock", nil, pin},
	})
}

// present leaves out the variants whose program is missing.
func present(list []variant) []variant {
	return slices.DeleteFunc(list, func(v variant) bool { return programs[v.tool] == "" })
}

// median is the median of one figure.
func median(list []result, figure func(result) float64) float64 {
	var v []float64
	for _, r := range list {
		v = append(v, figure(r))
	}
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// ratio is the median of the ratios within the rounds, because a disturbance in a round hits both.
func ratio(list, to []result, figure func(result) float64) float64 {
	var v []result
	for i := range list {
		v = append(v, result{rate: figure(list[i]) / math.Max(1e-9, figure(to[i]))})
	}
	return median(v, func(r result) float64 { return r.rate })
}

func rate(r result) float64   { return r.rate }
func cpu(r result) float64    { return float64(r.cpu) / 1e3 }
func user(r result) float64   { return float64(r.user) / 1e3 }
func broker(r result) float64 { return float64(r.broker) / 1e3 }
func p50(r result) float64    { return r.p50 }
func p99(r result) float64    { return r.p99 }
func rss(r result) float64    { return float64(r.rss) / (1 << 20) }

func maxTable(b *bench, e experiment, results [][]result) {
	base := results[min(1, len(results)-1)]
	b.printf("| | %[2]ss/s | × %[1]s | CPU µs a %[2]s | × %[1]s | user part | RSS MiB |\n|---|---|---|---|---|---|---|\n", e.variants[min(1, len(results)-1)].name, e.unit)
	for i, v := range e.variants {
		b.printf("| %s | %.0f | %.2f | %.2f | %.2f | %.2f | %.1f |\n", v.name,
			median(results[i], rate), ratio(results[i], base, rate), median(results[i], cpu), ratio(results[i], base, cpu), median(results[i], user), median(results[i], rss))
	}
}

// brokerTable is maxTable with the CPU of the server and response times.
func brokerTable(b *bench, e experiment, results [][]result) {
	base := results[1]
	b.printf("| | %[2]ss/s | CPU µs a %[2]s | × %[1]s | broker CPU µs a %[2]s | × %[1]s | p50 / p99, ms |\n|---|---|---|---|---|---|---|\n", e.variants[1].name, e.unit)
	for i, v := range e.variants {
		b.printf("| %s | %.0f | %.2f | %.2f | %.2f | %.2f | %.1f / %.1f |\n", v.name, median(results[i], rate), median(results[i], cpu), ratio(results[i], base, cpu),
			median(results[i], broker), ratio(results[i], base, broker), median(results[i], p50), median(results[i], p99))
	}
}

func rateTable(b *bench, e experiment, results [][]result) {
	b.printf("| | achieved/s | schedule lag p50 / p99, µs | service p50 / p99, µs | CPU µs a request | × takt | RSS MiB | GC cycles |\n|---|---|---|---|---|---|---|---|\n")
	for i, v := range e.variants {
		of := func(f func(result) float64) float64 { return median(results[i], f) }
		lag := fmt.Sprintf("%.0f / %.0f", of(func(r result) float64 { return r.lag.P50 }), of(func(r result) float64 { return r.lag.P99 }))
		service := fmt.Sprintf("%.0f / %.0f", of(func(r result) float64 { return r.service.P50 }), of(func(r result) float64 { return r.service.P99 }))
		switch v.tool {
		case "clock":
			b.printf("| %s | – | %s | – | – | – | – | – |\n", v.name, lag)
			continue
		case "wrk2", "h2load", "hey":
			lag, service = "–", "–"
		}
		b.printf("| %s | %.0f | %s | %s | %.2f | %.2f | %.1f | %.0f |\n", v.name, of(rate), lag, service,
			of(cpu), ratio(results[i], results[0], cpu), of(rss), of(func(r result) float64 { return float64(r.gc) }))
	}
}

// commands lists the commands that ran.
func (b *bench) commands() {
	b.printf("\n## Commands\n\nURL is the address of the server. LIBS is the folder of Kafka's libraries, or of Artemis.\n\n```text\n")
	seen := map[string]bool{}
	for _, e := range b.experiments() {
		for _, v := range e.variants {
			line := shown(v.command(server{url: "URL", libs: "LIBS"}, b.length))
			if v.tool != "clock" && !seen[line] {
				seen[line] = true
				b.printf("%s\n", line)
			}
		}
	}
	b.printf("```\n")
}

// shown quotes a command for a shell.
func shown(args []string) string {
	for i, a := range args {
		if strings.Contains(a, " ") {
			args[i] = "'" + a + "'"
		}
	}
	return strings.Join(args, " ")
}
