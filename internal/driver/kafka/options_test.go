package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/twmb/franz-go/pkg/kfake"
)

func TestE2EFaults(t *testing.T) {
	o := NewE2E()
	o.Plain = true
	o.consume.MinBytes = 0
	if faults := o.Validate(nil); len(faults) != 2 {
		t.Errorf("%v", faults)
	}
}

// certificate makes a certificate of 127.0.0.1 that signs itself, and its files.
func certificate(t *testing.T) (pair tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certFile, keyFile = write("cert", "CERTIFICATE", cert), write("key", "PRIVATE KEY", private)
	pair, err = tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return pair, certFile, keyFile
}

func TestTLS(t *testing.T) {
	pair, certFile, keyFile := certificate(t)
	ca := x509.NewCertPool()
	ca.AddCert(pair.Leaf)
	c := broker(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca}))
	for _, client := range clients() {
		for name, use := range map[string]cluster.TLS{
			"verified":     {On: true, CA: certFile, Cert: certFile, Key: keyFile},
			"not verified": {On: true, Insecure: true, Cert: certFile, Key: keyFile},
		} {
			o := producerOf(c)
			o.Client, o.TLS = client, use
			if r := run(t, o, requests(10)); r.Counts.OK != 10 {
				t.Errorf("%s, %s: counts %+v, errors %+v", client, name, r.Counts, r.Errors)
			}
		}
	}
}
