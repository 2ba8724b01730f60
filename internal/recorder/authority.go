package recorder

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/files"
)

// The files of an authority in its folder.
const (
	CertificateFile = "takt-authority.pem"
	keyFile         = "takt-authority.key"
)

// maxLeaves bounds the certificates that are kept for hosts.
const maxLeaves = 1000

// Authority signs certificates for the hosts that a browser visits through the proxy.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	leafKey *ecdsa.PrivateKey // of all hosts
	mu      sync.Mutex
	leaves  map[string]*tls.Certificate
}

// OpenAuthority reads the authority in a folder, or makes one there. Without a folder the authority is in memory only.
func OpenAuthority(folder string) (*Authority, error) {
	if folder == "" {
		return newAuthority()
	}
	key, err := door.ReadPrivate(filepath.Join(folder, keyFile))
	if errors.Is(err, os.ErrNotExist) {
		return makeAuthority(folder)
	}
	cert, err2 := files.ReadFile(filepath.Join(folder, CertificateFile))
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("cannot read the authority: %w", err)
	}
	a, err := parseAuthority(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the authority in %s cannot be used: %w; remove %s and %s, and takt makes another one", folder, err, CertificateFile, keyFile)
	}
	return a, nil
}

func parseAuthority(certPEM, keyPEM []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	switch {
	case !ok || !pair.Leaf.IsCA:
		return nil, errors.New("it is not one that takt made")
	case time.Now().After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("it was valid until %s", pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return (&Authority{cert: pair.Leaf, key: key}).begin()
}

// newAuthority makes an authority.
func newAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	plan := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "takt scenario record, " + now.Format(time.DateTime)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return (&Authority{cert: cert, key: key}).begin()
}

func (a *Authority) begin() (*Authority, error) {
	a.leaves = map[string]*tls.Certificate{}
	var err error
	a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return a, err
}

// serial is a number that no other certificate has.
func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return new(big.Int).SetBytes(b[:])
}

// makeAuthority makes an authority and keeps it in a folder. Only this user can read the key.
func makeAuthority(folder string) (*Authority, error) {
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return nil, err
	}
	err = files.WriteFile(filepath.Join(folder, CertificateFile), a.PEM(), 0o644)
	if err == nil { // last, since a key says that there is an authority
		err = files.WriteFile(filepath.Join(folder, keyFile), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep the authority: %w; make the folder, or name another one", err)
	}
	return a, nil
}

// PEM is the certificate that a client must trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// SPKI is the hash by which Chromium knows the authority.
func (a *Authority) SPKI() string {
	sum := sha256.Sum256(a.cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// leaf is the certificate of a host.
func (a *Authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[host]; c != nil {
		return c, nil
	}
	plan := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: host[:min(len(host), 64)]},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		plan.IPAddresses = []net.IP{ip}
	} else {
		plan.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, plan, a.cert, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate for %.100q: %w", host, err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leafKey}
	if len(a.leaves) < maxLeaves {
		a.leaves[host] = c
	}
	return c, nil
}
