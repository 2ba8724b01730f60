// Package permanent says which errors waiting cannot cure. Whatever in takt tries again, for a shard, a
// broker, a server that starts or a receiver of figures, asks this package before the next attempt.
package permanent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// Is reports whether err stays as it is, however long takt waits: a bad address, an unknown scheme, a
// certificate that is not the host's, another protocol, a missing permission. A refused connection, a
// time limit, a name that DNS does not know yet and a network that is not up yet are not permanent: all
// of them are usual while containers start.
func Is(err error) bool {
	var marked interface{ Permanent() bool }
	if errors.As(err, &marked) {
		return marked.Permanent()
	}
	return isAddress(err) || isPeer(err) || isHost(err)
}

// Mark makes err permanent: its author knows that another attempt would not help.
func Mark(err error) error { return &marked{err} }

type marked struct{ error }

func (m *marked) Unwrap() error { return m.error }

// Permanent implements what Is asks for.
func (*marked) Permanent() bool { return true }

// isAddress reports whether nothing can be reached by an address, whoever listens.
func isAddress(err error) bool {
	var (
		address *net.AddrError // no port, two ports, a port above 65535
		literal *net.ParseError
		network net.UnknownNetworkError
		escape  url.EscapeError
		host    url.InvalidHostError
		parsed  *url.Error
		port    *net.DNSError
	)
	switch {
	case errors.As(err, &address), errors.As(err, &literal), errors.As(err, &network), errors.As(err, &escape), errors.As(err, &host):
		return true
	case errors.As(err, &parsed) && parsed.Op == "parse":
		return true
	case errors.As(err, &port) && port.Err == "unknown port": // the name of a port, as in host:htpp
		return true
	}
	return hasText(err, "unsupported protocol scheme", "http: no Host in request URL") // net/http has no types for them
}

// hasText reports whether err or one of its causes begins with one of the texts.
func hasText(err error, texts ...string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(err.Error(), text) }) {
			return true
		}
	}
	return false
}

// isPeer reports whether the other side is not who, or does not speak what, takt expects.
func isPeer(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		name        x509.HostnameError
		authority   x509.UnknownAuthorityError
		invalid     x509.CertificateInvalidError
		plain       tls.RecordHeaderError // a port without TLS
		op          *net.OpError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &name), errors.As(err, &authority), errors.As(err, &invalid):
		return true
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return true
	case errors.As(err, &op) && op.Op == "remote error": // an alert of TLS: crypto/tls does not export its type
		return !hasText(op.Err, "tls: internal error") // servers without a certificate yet say so
	}
	return false
}

// isHost reports whether this host refuses, and will do so again.
func isHost(err error) bool {
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	return slices.ContainsFunc([]syscall.Errno{syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT, syscall.EINVAL, syscall.ENAMETOOLONG, syscall.ENOTDIR},
		func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// Status reports whether a server that answers with this status would answer so again.
func Status(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return code >= 300 && code < 500
}
