package http

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// clientCertificate implements tls.Config.GetClientCertificate: the certificate of --cert, or none
// where it is not one that the server accepts, as crypto/tls does without this function. It notes
// what the server asked for, because a server says afterwards only that it refuses.
func (o *Options) clientCertificate(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	none := new(tls.Certificate)
	if len(o.tls.Certificates) == 0 {
		o.handshakes.asks(nil)
		return none, nil
	}
	own := &o.tls.Certificates[0]
	err := asked.SupportsCertificate(own)
	o.handshakes.asks(err)
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
func (o *Options) reportCertificate(r *takt.Report) {
	h := &o.handshakes
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.asked || !slices.ContainsFunc(r.Errors, refusesCertificate):
	case h.misfit != nil:
		r.Warn(warn.ClientCertificate, "the server asks for a client certificate, and does not accept that of --cert: %v", h.misfit)
	case o.Cert == "":
		r.Warn(warn.ClientCertificate, "the server demands a client certificate; %s", takt.Advice("give it with --cert FILE and its key with --key FILE"))
	default:
		r.Warn(warn.ClientCertificate, "the server refused the client certificate of --cert; %s", takt.Advice("check its authority and its dates"))
	}
}

// refusesCertificate reports whether e is an alert about a certificate.
func refusesCertificate(e takt.ErrorClass) bool {
	return e.Class == engine.ClassTLS && strings.Contains(e.Sample, "remote error: tls: ") && strings.Contains(e.Sample, "certificate")
}
