package kafka

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/taktload/takt/internal/driver/kafka/consume"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// options are the options of a command.
type options interface {
	drivertest.Flags
	AddFlags(fs *pflag.FlagSet)
	Secrets() []string
}

// withProperties sets o by a command line that names a file with this text.
func withProperties[O options](t *testing.T, o O, text string, args ...string) O {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(append(args, "--properties", path)); err != nil {
		t.Fatal(err)
	}
	return o
}

// A file of properties is enough to reach brokers with TLS and users, with the certificates in
// files or in the properties.
func TestProperties(t *testing.T) {
	pair, certFile, keyFile := certificate(t)
	c := broker(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}),
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "alice", `it's "secret"`))
	cert, key := text(t, certFile), text(t, keyFile)
	both := filepath.Join(t.TempDir(), "both.pem")
	if err := os.WriteFile(both, []byte(key+cert), 0o600); err != nil {
		t.Fatal(err)
	}
	base := fmt.Sprintf(`bootstrap.servers=%s
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="alice" password="it's \\"secret\\"";
ssl.truststore.type=PEM
ssl.keystore.type=PEM
retries=7
`, strings.Replace(c.ListenAddrs()[0], "127.0.0.1", "localhost", 1)) // the certificate names the address only
	oneLine := func(pem string) string { return strings.ReplaceAll(pem, "\n", " \\\n ") }
	for name, more := range map[string]string{
		"files": fmt.Sprintf("ssl.truststore.location=%s\nssl.keystore.location=%s\n", certFile, both),
		"texts": fmt.Sprintf("ssl.truststore.certificates=%s\nssl.keystore.certificate.chain=%s\nssl.keystore.key=%s\n", oneLine(cert), oneLine(cert), oneLine(key)),
	} {
		o := withProperties(t, produce.New(), base+more)
		shaped := engine.Defaults()
		o.Shape(&shaped)
		o.Validate(nil)
		if err := o.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: a certificate of another host was accepted: %v", name, err)
		}
		o = withProperties(t, produce.New(), base+more+"ssl.endpoint.identification.algorithm=\nlinger.ms=3", "--linger", "1ms")
		r := run(t, o, requests(10))
		if r.Counts.OK != 10 || o.Linger.Milliseconds() != 1 || !slices.Contains(o.Secrets(), `it's "secret"`) {
			t.Errorf("%s: counts %+v, errors %+v, linger %v", name, r.Counts, r.Errors, o.Linger)
		}
		if w := warning(r, "properties"); !strings.Contains(w, "without effect here, 1: retries;") {
			t.Errorf("%s: %q", name, w)
		}
	}
	in := withProperties(t, consume.New(), base+"ssl.endpoint.identification.algorithm=\nssl.truststore.location="+certFile+"\nssl.keystore.location="+both+"\ngroup.id=g\nisolation.level=read_committed")
	if r := run(t, in, requests(20)); r.Counts.OK != 20 || in.Group != "g" || !in.Committed {
		t.Errorf("counts %+v, errors %+v, group %s", r.Counts, r.Errors, in.Group)
	}
	other := withProperties(t, produce.New(), base+"ssl.endpoint.identification.algorithm=\nssl.keystore.location="+both)
	shaped := engine.Defaults()
	other.Shape(&shaped)
	other.Validate(nil)
	if err := other.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate without an authority was accepted: %v", err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// warning is the message of the first warning with that code.
func warning(r *takt.Report, code takt.WarningCode) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}
