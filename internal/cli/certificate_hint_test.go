package cli

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

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
