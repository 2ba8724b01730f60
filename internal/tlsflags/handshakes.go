package tlsflags

import (
	"crypto/tls"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

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

// Note counts a handshake. It implements tls.Config.VerifyConnection.
func (f *Flags) Note(c tls.ConnectionState) error {
	h := &f.handshakes
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

// Report adds to r what the log of keys and the handshakes of the run say.
func (f *Flags) Report(r *takt.Report) {
	f.reportHandshakes(r)
	f.reportCertificate(r)
	f.keys.report(r)
}

// reportHandshakes adds what the handshakes agreed on, those before the start of the run included.
func (f *Flags) reportHandshakes(r *takt.Report) {
	h := &f.handshakes
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all > 0 {
		r.Extra["tls"] = strings.Join(slices.Sorted(maps.Keys(h.agreed)), ", ")
		r.Extra["tls_handshakes"], r.Extra["tls_resumed"] = h.all, h.resumed
	}
	if len(f.Ciphers.list) > 0 && h.newest > 0 {
		r.Warn(warn.TLSCiphers, "%d of %d handshakes agreed on TLS 1.3, whose cipher suites --tls-ciphers does not choose; %s", takt.Number("tls13", h.newest), takt.Number("handshakes", h.all), takt.Advice("add --tls-max 1.2"))
	}
}

// clientCertificate implements tls.Config.GetClientCertificate: the certificate of --cert, or none
// where it is not one that the server accepts, as crypto/tls does without this function. It notes
// what the server asked for, because a server says afterwards only that it refuses.
func (f *Flags) clientCertificate(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	none := new(tls.Certificate)
	if len(f.Config.Certificates) == 0 {
		f.handshakes.asks(nil)
		return none, nil
	}
	own := &f.Config.Certificates[0]
	err := asked.SupportsCertificate(own)
	f.handshakes.asks(err)
	if err != nil {
		return none, nil
	}
	return own, nil
}

// asks notes that a server asked for a certificate. misfit says why it does not get that of --cert.
func (h *handshakes) asks(misfit error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = true
	if h.misfit == nil {
		h.misfit = misfit
	}
}

// reportCertificate says what to do if a server ended connections because of the client certificate.
func (f *Flags) reportCertificate(r *takt.Report) {
	h := &f.handshakes
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.asked || !slices.ContainsFunc(r.Errors, refusesCertificate):
	case h.misfit != nil:
		r.Warn(warn.ClientCertificate, "the server asks for a client certificate, and does not accept that of --cert: %v", h.misfit)
	case f.Cert == "":
		r.Warn(warn.ClientCertificate, "the server demands a client certificate; %s", takt.Advice("give it with --cert FILE and its key with --key FILE"))
	default:
		r.Warn(warn.ClientCertificate, "the server refused the client certificate of --cert; %s", takt.Advice("check its authority and its dates"))
	}
}

// refusesCertificate reports whether e is an alert about a certificate.
func refusesCertificate(e takt.ErrorClass) bool {
	return e.Class == engine.ClassTLS && strings.Contains(e.Sample, "remote error: tls: ") && strings.Contains(e.Sample, "certificate")
}
