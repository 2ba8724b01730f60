package http

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
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
	if err := o.checkVersions(); err != nil {
		return err
	}
	o.tls = &tls.Config{
		InsecureSkipVerify: o.Insecure, VerifyConnection: o.handshakes.note, CipherSuites: o.TLSCiphers.list,
		MinVersion: versionOf(o.TLSMin), MaxVersion: versionOf(o.TLSMax),
	}
	o.tls.GetClientCertificate = o.clientCertificate
	if o.TLSResume {
		o.tls.ClientSessionCache = tls.NewLRUClientSessionCache(sessionsKept)
	}
	if o.CACert != "" {
		var err error
		if o.tls.RootCAs, err = Authorities(o.CACert); err != nil {
			return err
		}
	}
	if o.Key != "" && o.Cert == "" {
		return value.Faultf("--key is given without --cert; a client certificate needs both")
	}
	if o.Cert == "" {
		return nil
	}
	cert, err := files.ReadFile(o.Cert)
	key, unread := files.ReadFile(cmp.Or(o.Key, o.Cert))
	var pair tls.Certificate
	if err = errors.Join(err, unread); err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		return value.Faultf("cannot use the client certificate: %w; check --cert and --key", err)
	}
	o.tls.Certificates = []tls.Certificate{pair}
	return nil
}

// Authorities are those of the file of --cacert.
func Authorities(file string) (*x509.CertPool, error) {
	pem, err := files.ReadFile(file)
	if err != nil {
		return nil, value.Faultf("cannot read the authorities: %w; check --cacert", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, value.Faultf("no certificate in %s; --cacert wants PEM", file)
	}
	return pool, nil
}

func versionOf(name string) uint16 {
	if name == tls13 {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

func (o *Options) checkVersions() error {
	switch only13 := o.TLSMin == tls13; {
	case only13 && o.TLSMax == tls12:
		return value.Faultf("--tls-min 1.3 is above --tls-max 1.2; drop one of the two")
	case only13 && len(o.TLSCiphers.list) > 0:
		return value.Faultf("--tls-ciphers is given with --tls-min 1.3: %w", errCipher13)
	}
	return nil
}

// handshakes counts the handshakes of a run by what they agreed on.
type handshakes struct {
	mu      sync.Mutex
	all     uint64
	resumed uint64
	newest  uint64            // with TLS 1.3
	asked   bool              // a server asked for a client certificate
	misfit  error             // reason why it did not get that of --cert
	agreed  map[string]uint64 // version and cipher
}

// note implements tls.Config.VerifyConnection.
func (h *handshakes) note(c tls.ConnectionState) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.agreed == nil {
		h.agreed = map[string]uint64{}
	}
	if h.all++; c.Version == tls.VersionTLS13 {
		h.newest++
	}
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
	if len(o.TLSCiphers.list) > 0 && h.newest > 0 {
		r.Warn(warn.TLSCiphers, "%d of %d handshakes agreed on TLS 1.3, whose cipher suites --tls-ciphers does not choose; %s", takt.Number("tls13", h.newest), takt.Number("handshakes", h.all), takt.Advice("add --tls-max 1.2"))
	}
}
