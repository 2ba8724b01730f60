package tlsflags

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
)

// ReadFile is the content of the file that a flag names; nil: it names none.
func ReadFile(_, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	return files.ReadFile(path)
}

// Authorities are those of the PEM file of a flag; nil: there is none, so those of the system count. read is the content
// of a flag's file; nil: there is none.
func Authorities(read func(flag, path string) ([]byte, error), path, flag string) (*x509.CertPool, error) {
	pem, err := read(flag, path)
	if err != nil {
		return nil, value.Faultf("cannot read the authorities: %w; check --%s", err, flag)
	}
	if pem == nil {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, value.Faultf("no certificate in %s; --%s wants PEM", cmp.Or(path, "the settings"), flag)
	}
	return pool, nil
}

// Certificates has the client certificate of two files, of which the key's may be left out; empty: there is none. read is
// as in Authorities.
func Certificates(read func(flag, path string) ([]byte, error), cert, key, certFlag, keyFlag string) ([]tls.Certificate, error) {
	if key != "" && cert == "" {
		return nil, value.Faultf("--%s is given without --%s; a client certificate needs both", keyFlag, certFlag)
	}
	public, err := read(certFlag, cert)
	if err == nil && public == nil {
		return nil, nil
	}
	private, unread := read(keyFlag, cmp.Or(key, cert))
	var pair tls.Certificate
	if err = errors.Join(err, unread); err == nil {
		pair, err = tls.X509KeyPair(public, private)
	}
	if err != nil {
		return nil, value.Faultf("cannot use the client certificate: %w; check --%s and --%s", err, certFlag, keyFlag)
	}
	return []tls.Certificate{pair}, nil
}
