package main

import (
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/taktload/takt/pkg/drivertest"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against a server in this process.
func TestRealDNS(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		_ = w.WriteMsg(a)
	})}
	served := make(chan error, 1)
	go func() { served <- s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown(); <-served })
	opened := func() (*takt.Driver, error) { return open([]string{c.LocalAddr().String()}, "localhost", time.Second) }
	drivertest.Check(t, drivertest.Expect{Bytes: true, Open: func(t *testing.T, target drivertest.Target) *takt.Driver {
		if target != drivertest.Good {
			return nil
		}
		d, err := opened()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}})
	rates(t, "DNS", opened)
}

// rates makes runs at 20,000/s with 1 and with 20 workers, and prints a row of docs/library.md for each.
func rates(t *testing.T, name string, open func() (*takt.Driver, error)) {
	t.Helper()
	for _, workers := range []int{1, 20} {
		d, err := open()
		if err != nil {
			t.Fatal(err)
		}
		s := schedule.Constant(20_000, 3*time.Second)
		r, err := load.Run(t.Context(), load.Plan{Driver: d, Schedule: s, Workers: workers, Drain: time.Second, Tune: true})
		if err != nil {
			t.Fatal(err)
		}
		ms := func(name string) float64 { return r.Latency[name].P99 / 1e3 }
		t.Logf("| %s | %d | %.0f/s | %.3g ms | %.3g ms | %.3g ms | %s |", name, workers, r.Rate.Achieved, ms("service"), ms("response"), ms("schedule_lag"), r.Verdict)
		if r.Counts.OK == 0 || r.Counts.Failed > r.Counts.OK/100 { // a busy machine loses packets
			t.Errorf("%+v %+v", r.Counts, r.Errors)
		}
	}
}
