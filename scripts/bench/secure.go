package main

import (
	"fmt"
	"net/url"
	"strconv"
)

// secureExperiments compare takt with its peers over TLS and HTTP/2.
func (b *bench) secureExperiments() []experiment {
	nginx := server{name: "nginx", pin: serverCore}
	const place = " nginx has one worker on one core, the client another core."
	all := []experiment{{
		name:     "Most requests per second, https, nginx, pinned",
		text:     "HTTP/1.1 over TLS." + place + " Closed loop, 50 connections, answers of 100 bytes. wrk" + sameRequest + " takt and h2load negotiate AES-128, wrk AES-256.",
		server:   nginx,
		variants: secureLoops(),
		table:    maxTable,
		unit:     "request",
	}}
	for _, s := range []shape{
		{"TLS", 1, 50, ""}, {"TLS", 10, 10, ""}, {"TLS", 50, 10, ""},
		{"clear", 1, 50, ""}, {"clear", 10, 10, ""}, {"clear", 50, 10, ""},
		{"TLS", 10, 10, "16k.txt"}, {"TLS", 10, 10, "256k.txt"},
	} {
		all = append(all, experiment{name: s.name(), text: s.text() + place, server: nginx, variants: s.variants(), table: maxTable, unit: "request"})
	}
	for _, rate := range []int{1_000, 10_000, 50_000} {
		all = append(all, experiment{
			name:     fmt.Sprintf("%d requests per second over TLS and HTTP/2", rate),
			text:     "nginx has one core, the client another. HTTP/1.1 has 50 connections, HTTP/2 10 with 10 streams each. h2load and hey report no lag and no service time from due instants.",
			server:   nginx,
			variants: secureRates(rate),
			table:    rateTable,
		})
	}
	return all
}

// at returns the URL of nginx on the port that is so many higher, by its placeholder.
func (s server) at(scheme string, offset int) string {
	u, err := url.Parse(s.url)
	if err != nil || u.Port() == "" {
		return scheme + "://URL/"
	}
	port, _ := strconv.Atoi(u.Port())
	return fmt.Sprintf("%s://%s:%d/", scheme, u.Hostname(), port+offset)
}

func secureTakt(more ...string) []string {
	return append([]string{"http", "--no-store", "--progress", "none", "-o", "json", "--insecure", "-z", "SECONDSs"}, more...)
}

func secureLoops() []variant {
	return present([]variant{
		{"takt", "takt", secureTakt("-c", "50", "TLSURL"), clientCore},
		{"wrk", "wrk", append(wrkArgs()[:7], "TLSURL"), clientCore},
		{"h2load --h1", "h2load", []string{"--h1", "-t1", "-c50", "-m1", "-DSECONDS", "TLSURL"}, clientCore},
		{"takt, worker mode", "takt", secureTakt("-c", "50", "--engine", "worker", "TLSURL"), clientCore},
		{"hey", "hey", []string{"-c", "50", "-z", "SECONDSs", "TLSURL"}, clientCore},
	})
}

// shape is a load over HTTP/2.
type shape struct {
	over           string // TLS or clear
	conns, streams int
	file           string // "": 100 bytes
}

func (s shape) url() string {
	if s.over == "TLS" {
		return "TLSURL" + s.file
	}
	return "CLEARURL" + s.file
}

func (s shape) name() string {
	what := "h2"
	if s.over != "TLS" {
		what = "h2c"
	}
	name := fmt.Sprintf("Most requests per second, %s, %d x %d, nginx, pinned", what, s.conns, s.streams)
	if s.file != "" {
		name += ", " + s.file
	}
	return name
}

func (s shape) text() string {
	over := "HTTP/2 over TLS"
	if s.over != "TLS" {
		over = "HTTP/2 with prior knowledge, without TLS"
	}
	return fmt.Sprintf("%s. Closed loop, connections x requests on each: %d x %d.", over, s.conns, s.streams)
}

func (s shape) variants() []variant {
	c, m := strconv.Itoa(s.conns), strconv.Itoa(s.streams)
	list := []variant{
		{"takt", "takt", secureTakt("--h2", "--h2-connections", c, "--h2-streams", m, s.url()), clientCore},
		{"h2load", "h2load", []string{"-t1", "-c" + c, "-m" + m, "-DSECONDS", s.url()}, clientCore},
		{"takt --client net", "takt", secureTakt("--h2", "--client", "net", "--h2-connections", c, "--h2-streams", m, s.url()), clientCore},
	}
	if s.over == "TLS" && s.conns == 1 {
		list = append(list, variant{"hey -h2", "hey", []string{"-h2", "-c", m, "-z", "SECONDSs", s.url()}, clientCore})
	}
	return present(list)
}

func secureRates(rate int) []variant {
	r := strconv.Itoa(rate)
	return present([]variant{
		{"takt, plain", "takt", taktArgs("--rate", r), clientCore},
		{"takt, https", "takt", secureTakt("-c", "50", "--rate", r, "TLSURL"), clientCore},
		{"takt, h2", "takt", secureTakt("--h2", "--h2-connections", "10", "--h2-streams", "10", "--rate", r, "TLSURL"), clientCore},
		{"takt, h2c", "takt", secureTakt("--h2", "--h2-connections", "10", "--h2-streams", "10", "--rate", r, "CLEARURL"), clientCore},
		{"h2load, h2", "h2load", []string{"-t1", "-c10", "-m10", "--rps=" + strconv.Itoa(rate/10), "-DSECONDS", "TLSURL"}, clientCore},
		{"hey, https", "hey", []string{"-c", "50", "-q", strconv.Itoa(rate / 50), "-z", "SECONDSs", "TLSURL"}, clientCore},
		{"floor", "clock", nil, clientCore},
	})
}
