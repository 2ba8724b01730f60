package http

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// The values of Options.TLSMin.
const (
	tls12 = "1.2"
	tls13 = "1.3"
)

// sessionsKept is the number of hosts whose session is kept for the next connection.
const sessionsKept = 64

// readTLS makes what connections to any https server have in common.
func (o *Options) readTLS() error {
	o.tls = &tls.Config{InsecureSkipVerify: o.Insecure, VerifyConnection: o.handshakes.note}
	if o.TLSMin == tls13 {
		o.tls.MinVersion = tls.VersionTLS13
	}
	if o.TLSResume {
		o.tls.ClientSessionCache = tls.NewLRUClientSessionCache(sessionsKept)
	}
	if o.CACert != "" {
		pem, err := os.ReadFile(o.CACert)
		if err != nil {
			return value.Faultf("cannot read the authorities: %w; check --cacert", err)
		}
		o.tls.RootCAs = x509.NewCertPool()
		if !o.tls.RootCAs.AppendCertsFromPEM(pem) {
			return value.Faultf("no certificate in %s; --cacert wants PEM", o.CACert)
		}
	}
	if o.Key != "" && o.Cert == "" {
		return value.Faultf("--key is given without --cert; a client certificate needs both")
	}
	if o.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, cmp.Or(o.Key, o.Cert))
	if err != nil {
		return value.Faultf("cannot use the client certificate: %w; check --cert and --key", err)
	}
	o.tls.Certificates = []tls.Certificate{pair}
	return nil
}

// handshakes counts the handshakes of a run by what they agreed on.
type handshakes struct {
	mu      sync.Mutex
	all     uint64
	resumed uint64
	agreed  map[string]uint64 // version and cipher
}

// note implements tls.Config.VerifyConnection.
func (h *handshakes) note(c tls.ConnectionState) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.agreed == nil {
		h.agreed = map[string]uint64{}
	}
	h.all++
	if h.agreed[tls.VersionName(c.Version)+" "+tls.CipherSuiteName(c.CipherSuite)]++; c.DidResume {
		h.resumed++
	}
	return nil
}

// reportTLS adds to r what the handshakes agreed on, those before the start of the run included.
func (o *Options) reportTLS(r *takt.Report) {
	h := &o.handshakes
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all > 0 {
		r.Extra["tls"] = strings.Join(slices.Sorted(maps.Keys(h.agreed)), ", ")
		r.Extra["tls_handshakes"], r.Extra["tls_resumed"] = h.all, h.resumed
	}
}
