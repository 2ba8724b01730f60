package kafka

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/taktload/takt/internal/driver/kafka/produce"
)

// A broker that names an address which takt cannot reach is said at the start, with that address and the
// broker's setting; another address that works is no fault.
func TestAdvertisedListeners(t *testing.T) {
	errNoHost := errors.New("no such host")
	for _, reached := range []int{0, 1, 3} {
		c := broker(t, kfake.NumBrokers(3))
		o := produce.New()
		o.Brokers = "bootstrap.test:9092"
		addrs := c.ListenAddrs()
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			switch {
			case addr == o.Brokers:
				addr = addrs[0]
			case !strings.Contains(strings.Join(addrs[:min(reached, len(addrs))], " "), addr):
				return nil, errNoHost
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		_, err := o.FindTopic(t.Context(), nil)
		if named := err != nil && strings.Contains(err.Error(), "bootstrap.test:9092 answers, and names 127.0.0.1:") && strings.Contains(err.Error(), "advertised.listeners"); named != (reached == 0) {
			t.Errorf("%d reached: %v", reached, err)
		}
		if reached == 0 && !errors.Is(err, errNoHost) {
			t.Errorf("%v does not say why", err)
		}
	}
}
