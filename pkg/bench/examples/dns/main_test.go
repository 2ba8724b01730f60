package main

import (
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/taktload/takt/internal/exampletest"
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
	exampletest.Example{
		Name: "DNS", Where: c.LocalAddr().String(), Bytes: true,
		Open: func(args []string) (*takt.Driver, error) { return open(args, "localhost", time.Second) },
	}.Test(t)
}
