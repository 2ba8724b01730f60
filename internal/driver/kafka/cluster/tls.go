package cluster

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
)

// file reads the file of a flag, or what --properties has in its place.
func (t *TLS) file(flag, path string) ([]byte, error) {
	if path == "" {
		return t.pem[flag], nil
	}
	return files.ReadFile(path)
}

// trust sets the authorities that may sign the brokers' certificates.
func (t *TLS) trust(config *tls.Config) error {
	pem, err := t.file("tls-ca-cert", t.CA)
	if err != nil {
		return value.Faultf("cannot read the certificate authorities: %w; check --tls-ca-cert", err)
	}
	if pem == nil {
		return nil
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return value.Faultf("--tls-ca-cert %s holds no PEM certificate; check the file", cmp.Or(t.CA, "(in --properties)"))
	}
	return nil
}

// identify sets the client certificate.
func (t *TLS) identify(config *tls.Config) error {
	if t.Key != "" && t.Cert == "" {
		return value.Faultf("--tls-key-file is given without --tls-cert-file; add the certificate")
	}
	cert, err := t.file("tls-cert-file", t.Cert)
	if err == nil && cert == nil {
		return nil
	}
	key, unread := t.file("tls-key-file", cmp.Or(t.Key, t.Cert))
	var pair tls.Certificate
	if err = errors.Join(err, unread); err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		return value.Faultf("cannot read the client certificate: %w; check --tls-cert-file and --tls-key-file", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}

// anyHost verifies certificates without the host names in them, which crypto/tls cannot leave out.
func anyHost(config *tls.Config) {
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: config.RootCAs, Intermediates: between})
		return err
	}
}
