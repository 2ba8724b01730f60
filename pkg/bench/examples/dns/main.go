// Command dns loads a DNS server with queries over UDP:
//
//	go build -o dns . && takt ./dns --rate 20k/s -z 10s -c 20 --name example.org 127.0.0.1:53
package main

import (
	"context"
	"errors"
	"flag"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func main() {
	name := flag.String("name", "localhost", "the name to ask for")
	timeout := flag.Duration("timeout", time.Second, "of a query")
	bench.Main(func(args []string) (*takt.Driver, error) { return open(args, *name, *timeout) })
}

func open(args []string, name string, timeout time.Duration) (*takt.Driver, error) {
	if len(args) != 1 {
		return nil, bench.Usage(errors.New("give the address of the server, such as 127.0.0.1:53"))
	}
	return load.Workers(func(int) (load.Func, func() error, error) {
		client := &dns.Client{Net: "udp", Timeout: timeout}
		c, err := client.Dial(args[0])
		if err != nil {
			return nil, nil, err
		}
		question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
		return func(ctx context.Context, op *takt.Op, r *takt.Result) error {
			question.Id = uint16(op.Seq) // a late answer has another number, and is not taken for this one's
			answer, _, err := client.ExchangeWithConnContext(ctx, question, c)
			if err != nil {
				return err
			}
			r.Status, r.BytesSent, r.BytesReceived = answer.Rcode, int64(question.Len()), int64(answer.Len())
			if answer.Rcode != dns.RcodeSuccess {
				return load.Failed(strings.ToLower(dns.RcodeToString[answer.Rcode]), errors.New(dns.RcodeToString[answer.Rcode]))
			}
			return nil
		}, c.Close, nil
	}), nil
}
