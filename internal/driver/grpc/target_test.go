package grpc

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/targettest"
)

// What takt grpc counts is what takt's own target did, for each kind of method, which its reflection describes.
func TestTruth(t *testing.T) {
	for method, messages := range map[string]int{"Unary": 1, "ServerStream": 4, "ClientStream": 1, "BidiStream": 3} {
		for _, tls := range []bool{false, true} {
			s, stop, err := targettest.Start(target.Options{
				GRPC: true, TLS: tls, Service: "exp(200us)", Servers: 4, GRPCMessages: 4, ErrorRate: 0.1, ResetRate: 0.05, Seed: 11,
			})
			if err != nil {
				t.Fatal(err)
			}
			o := with(`{"body":"YQ=="}`)
			if method == "ClientStream" || method == "BidiStream" {
				o.conn.Body = `{"body":"YQ=="} {"body":""} {"body":"YmM="}`
			}
			const n = 400
			r := drivertest.Make(t, drivertest.Plan(t, "grpc", o, func(e *engine.Options) {
				e.Requests, e.Rate, e.Drain = n, engine.MustRate("1000/s"), engine.DrainOf(time.Minute)
			}, s.URL()+"/takt.Target/"+method))
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			got := map[string]uint64{}
			for _, e := range r.Errors {
				got[e.Class] = e.Count
			}
			truth := s.Truth()
			c := truth.Counts
			if c.Requests != n || r.Counts.OK != c.OK || got["unavailable"] != c.Errors || got["reset"] != c.Resets || c.Errors < 10 || c.Resets < 5 || c.Malformed != 0 {
				t.Errorf("%s: takt counts %+v, %v; the target %+v", method, r.Counts, got, c)
			}
			for i, stream := range truth.Streams {
				if truth.Records[i].Outcome == target.OK && len(stream.Sent) != messages {
					t.Fatalf("%s: the target sent %d messages of call %d; want %d", method, len(stream.Sent), i, messages)
				}
			}
		}
	}
}
