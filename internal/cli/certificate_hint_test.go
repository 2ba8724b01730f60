package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
)

// The advice about a certificate is that for its fault: another name needs no other authority, and an authority that
// is given needs no flag.
func TestTrustOfAnotherName(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	authority, other := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct{ authority, url, want, not string }{
		{authority, elsewhere, "write a host that the certificate names", "--cacert"},
		{other, s.URL, "none of the authorities in " + other + " has signed it", "--cacert FILE"},
	} {
		for _, client := range []string{"own", "net"} {
			code, out, errs := callWith(t, nil, "", "http", "-n", "1", "-c", "1", "--client", client, "--cacert", c.authority, c.url)
			if text := out + errs; code != core.ExitFailed || !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
				t.Errorf("%s: exit code %d: %s", c.url, code, text)
			}
		}
	}
}

// A target with a certificate that nobody trusts ends every command before its first
// operation, with the flags that trust it; with them it works.
func TestTrust(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	s.EnableHTTP2, s.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	addr := s.Listener.Addr().String()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	const web, broker = "with --cacert FILE, or any certificate with --insecure", "with --tls-ca-cert FILE, or any certificate with --tls-insecure-skip-verify"
	for command, hint := range map[string]string{
		"http -n 2":                                          web,
		"http -n 2 --engine worker":                          web,
		"http -n 2 --client net":                             web,
		"http -n 2 --h2":                                     web,
		"capacity http --slo p99<1s":                         web,
		"kafka produce --topic t -n 1 --tls":                 broker,
		"kafka produce --topic t -n 1 --tls --client sarama": broker,
		"kafka consume --topic t -n 1 --tls":                 broker,
		"kafka e2e --topic t -n 1 --tls":                     broker,
		"jms producer --message-count 1 queue://q":           broker,
	} {
		t.Run(command, func(t *testing.T) {
			args := strings.Fields(command)
			switch args[0] {
			case "kafka":
				args = append(args, "--brokers", addr)
			case "jms":
				args = append(args, "--url", "amqps://"+addr)
			default:
				args = append(args, s.URL)
			}
			code, out, errs := callWith(t, nil, "", args...)
			if code != core.ExitFailed || !strings.Contains(errs, "failed to verify certificate") || strings.Count(errs, hint) != 1 {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
			if args[0] != "http" {
				return
			}
			for _, with := range [][]string{{"--insecure"}, {"--cacert", authority}} {
				if code, out, errs := callWith(t, nil, "", append(append([]string{"http"}, with...), args[1:]...)...); code != core.ExitOK || !strings.Contains(out, "2 ok") {
					t.Errorf("%v: exit code %d: %s%s", with, code, out, errs)
				}
			}
		})
	}
}
