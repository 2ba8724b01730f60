package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// selfSigned is the configuration of a server over TLS with a certificate that is made now, for
// this machine's loopback addresses and the address that the server listens on.
func selfSigned(addr net.Addr, h2 bool) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	now := time.Now()
	about := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "takt target"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() && !tcp.IP.IsLoopback() {
		about.IPAddresses = append(about.IPAddresses, tcp.IP)
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: protocols(h2)}, nil
}

// veil is the connection below TLS. The dispatcher may not wait for a client, so what TLS writes
// for it is collected.
type veil struct {
	*net.TCPConn
	read    net.Conn
	mu      sync.Mutex
	collect bool
	sealed  []byte
}

// Read implements net.Conn.
func (v *veil) Read(b []byte) (int, error) { return v.read.Read(b) }

// Write implements net.Conn.
func (v *veil) Write(b []byte) (int, error) {
	v.mu.Lock()
	if v.collect {
		v.sealed = append(v.sealed, b...)
		v.mu.Unlock()
		return len(b), nil
	}
	v.mu.Unlock()
	return v.TCPConn.Write(b)
}

// seal returns b as over transports it. The bytes change with the next call.
func (v *veil) seal(over *tls.Conn, b []byte) []byte {
	v.mu.Lock()
	v.collect, v.sealed = true, v.sealed[:0]
	v.mu.Unlock()
	_, _ = over.Write(b) // fails when the connection has ended, as its reader knows
	v.mu.Lock()
	defer v.mu.Unlock()
	v.collect = false
	return v.sealed
}
