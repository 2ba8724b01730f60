//go:build real

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kerberized is the broker of TAKT_KERBEROS, whose SASL listener wants tickets of a KDC.
func kerberized(t *testing.T) broker {
	t.Helper()
	t.Setenv("TAKT_KAFKA", os.Getenv("TAKT_KERBEROS"))
	return kafka(t)
}

func (b broker) ticketFlags(topic string, more ...string) []string {
	return slices.Concat([]string{"--brokers", b.addr(saslPort), "--topic", topic, "--sasl", "gssapi", "--sasl-krb5-conf", filepath.Join(b.folder, "krb5.conf")}, more)
}

// Each client gets tickets with a key and with a password, and what it wrote is there.
func TestRealKerberos(t *testing.T) {
	b := kerberized(t)
	for name, proof := range map[string][]string{
		"keytab":   {"--sasl-user", "load", "--sasl-keytab", filepath.Join(b.folder, "load.keytab")},
		"password": {"--sasl-user", "load@TAKT.TEST", "--sasl-password", "secret"},
	} {
		for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
			t.Run(name+"/"+client, func(t *testing.T) {
				topic := topicOf(t)
				t.Cleanup(func() { b.drop(t, topic) })
				r := reportOf(t, "kafka produce", b.ticketFlags(topic, slices.Concat(proof, []string{"--client", client, "--create-topic", "-n", "500", "--message-batch-size", "20"})...))
				if r.Counts.OK != 500 || r.Ledger.Missing > 0 {
					t.Errorf("counts %+v, errors %v, ledger %+v", r.Counts, r.Errors, r.Ledger)
				}
				reader := strings.TrimSuffix(client, "-async")
				if reader == "takt" {
					reader = "franz"
				}
				c := reportOf(t, "kafka consume", b.ticketFlags(topic, slices.Concat(proof, []string{"--client", reader, "-n", "500", "--duration", "30s", "--from", "beginning"})...))
				if c.Counts.OK != 500 || c.Extra["lost"] != 0.0 {
					t.Errorf("consumer: counts %+v, extra %v", c.Counts, c.Extra)
				}
			})
		}
	}
}

// Whoever has no ticket learns why, and no text shows the password.
func TestRealKerberosRefuses(t *testing.T) {
	b := kerberized(t)
	for name, c := range map[string]struct {
		flags []string
		says  string
	}{
		"wrong password": {[]string{"--sasl-user", "load", "--sasl-password", "wrong-secret"}, "password/keytab incorrect"},
		"nobody":         {[]string{"--sasl-user", "nobody", "--sasl-password", "wrong-secret"}, "KDC"},
		"no realm":       {[]string{"--sasl-user", "load@ELSEWHERE.TEST", "--sasl-password", "wrong-secret"}, "ELSEWHERE.TEST"},
		"other service":  {[]string{"--sasl-user", "load", "--sasl-password", "secret", "--sasl-service", "other"}, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			code, said := say(t.Context(), "kafka produce", b.ticketFlags("x", append(c.flags, "-n", "1", "--connect-timeout", "5s")...))
			t.Log(said)
			if code == 0 || !strings.Contains(said, c.says) || strings.Contains(said, "wrong-secret") {
				t.Errorf("exit code %d: %s", code, said)
			}
		})
	}
}
