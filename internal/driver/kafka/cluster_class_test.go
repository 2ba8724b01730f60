package kafka_test

import (
	"crypto/x509"
	"net"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
)

// A consumer ends at once where waiting does not help.
func TestLasts(t *testing.T) {
	for err, want := range map[error]bool{
		kerr.TopicAuthorizationFailed: true, kgo.ErrClientClosed: true, kerr.InvalidGroupID: true,
		x509.UnknownAuthorityError{}: true, &net.AddrError{Err: "invalid port"}: true,
		kerr.NotLeaderForPartition: false, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}: false, &net.DNSError{IsNotFound: true}: false,
	} {
		if cluster.Lasts(err) != want {
			t.Errorf("%T %#v: %v", err, err, !want)
		}
	}
}
