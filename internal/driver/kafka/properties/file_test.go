package properties

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The format is that of java.util.Properties.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"\n\n  \t\n":                      "",
		"# comment\n! comment\na=1":       "3 a=1",
		"a=1\r\nb=2\r\n":                  "1 a=1|2 b=2",
		"a=1\rb=2":                        "1 a=1|2 b=2",
		"a = 1 \nb:2\nc 3\nd\t=\t4":       "1 a=1 |2 b=2|3 c=3|4 d=4",
		"a==1\nb=:2\nc = = 3":             "1 a==1|2 b=:2|3 c== 3",
		"word":                            "1 word=",
		"a\\ b\\=c\\:=1":                  "1 a b=c:=1",
		"a=x\\\n   y\\\r\n\tz\nb=1":       "1 a=xyz|4 b=1",
		"a=x\\\\\nb=1":                    "1 a=x\\|2 b=1",
		"a=x\\":                           "1 a=x",
		"a=x\\\n":                         "1 a=x",
		"a=x\\\n# no comment":             "1 a=x# no comment",
		"a=\\t\\n\\q\\\"":                 "1 a=\t\nq\"",
		"a=\\u00e9\\u20AC\\ud83d\\ude00.": "1 a=é€😀.",
		"a=\\ud83d":                       "1 a=\ufffd",
		"a=\xe9":                          "1 a=é",  // ISO 8859-1
		"a=\xc3\xa9":                      "1 a=Ã©", // as Java has it
		"\xef\xbb\xbfa=1":                 "1 a=1",
		"\\\n# comment\na=1":              "3 a=1",
		"=x":                              "1 =x",
		"a=\x00\x1b[31m":                  "1 a=\x00\x1b[31m",
	} {
		list, err := parse([]byte(text))
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("%d %s=%s", e.line, e.key, e.value))
		}
		if s := strings.Join(got, "|"); s != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, s, err, want)
		}
	}
	for text, want := range map[string]string{"a=1\nb=hidden\\u12": "2: a backslash", "a=\\uzzzz": "1: a backslash", "a=\\u+123": "1: a backslash"} {
		if _, err := parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a=1\\\n b\\u00e9"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.line < 1 || e.line > len(text) {
				t.Errorf("%q is in line %d", e.key, e.line)
			}
			_, _ = parseJAAS(e.value)
			_ = rewrap(e.value)
		}
	})
}

func TestJAAS(t *testing.T) {
	const plain = "org.apache.kafka.common.security.plain.PlainLoginModule "
	for text, want := range map[string]login{
		`OAuthBearerLoginModule required clientId="c" clientSecret="s" scope="a b";`: {module: "OAuthBearerLoginModule", user: "c", password: "s", scope: "a b"},
		plain + `required username="alice" password="a;b=\"c\\ d";`:                  {module: "PlainLoginModule", user: "alice", password: `a;b="c\ d`},
		plain + `required password='p' serviceName="x" username=u;`:                  {module: "PlainLoginModule", user: "u", password: "p"},
		plain + `required`:                           {module: "PlainLoginModule"},
		`ScramLoginModule sufficient username = "a"`: {module: "ScramLoginModule", user: "a"},
	} {
		if l, err := parseJAAS(text); l != want || err != nil {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
	}
	for _, text := range []string{"", "x", plain + `required username="alice`, plain + "required username", plain + `required username "p4ssw0rd"`, plain + `required tokenauth="true"`} {
		if _, err := parseJAAS(text); err == nil || strings.Contains(err.Error(), "p4ssw0rd") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// written is a file with this text and mode.
func written(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// flagsOf are the flags of a command, all of them if list is empty; given are those of the user.
func flagsOf(given map[string]string, list ...string) Flags {
	return Flags{
		Has: func(flag string) bool {
			return len(list) == 0 || strings.Contains(" "+strings.Join(list, " ")+" ", " "+flag+" ")
		},
		Given: func(flag string) (string, bool) { v, ok := given[flag]; return v, ok },
	}
}

func result(r Result, path string) string {
	var parts []string
	for _, s := range r.Settings {
		parts = append(parts, s.Flag+"="+s.Value)
	}
	for flag := range r.PEM {
		parts = append(parts, "pem "+flag)
	}
	if len(r.Ignored) > 0 {
		parts = append(parts, "ignored "+strings.Join(r.Ignored, " "))
	}
	for _, err := range r.Faults {
		parts = append(parts, "fault "+strings.ReplaceAll(err.Error(), path, "F"))
	}
	return strings.Join(parts, "|")
}

func TestRead(t *testing.T) {
	const jaas = "sasl.jaas.config=a.ScramLoginModule required username=\"alice\" password=\"s3cret\";\n"
	for _, c := range []struct {
		text  string
		given map[string]string
		want  string
	}{
		{"", nil, ""},
		{"bootstrap.servers = a:1, b:2\nclient.id=me\n", nil, "brokers=a:1,b:2|client-id=me"},
		{"acks=-1\nlinger.ms=5\nbatch.size=0\ncompression.type=ZSTD\ndelivery.timeout.ms=2147483647\nmax.in.flight.requests.per.connection=1", nil,
			"required-acks=all|linger=5ms|batch-bytes=1|compression=zstd|max-open-requests=1|timeout=2147483647ms"},
		{"enable.idempotence=true", nil, "idempotence=true|required-acks=all"},
		{"enable.idempotence=true\nacks=1", nil, "required-acks=local|idempotence=true"},
		{"enable.idempotence=true", map[string]string{"idempotence": "false"}, ""},
		{"acks=all\nacks=1", map[string]string{}, "required-acks=local"},
		{"acks=all", map[string]string{"required-acks": "none"}, ""},
		{"acks=2\nlinger.ms=-1\nbatch.size=9999999999\nfetch.max.wait.ms=1.5", nil,
			`fault F:1: acks: "2" is not 0, 1 or all|fault F:2: linger.ms: "-1" is not milliseconds|fault F:3: batch.size: "9999999999" is not bytes|fault F:4: fetch.max.wait.ms: "1.5" is not milliseconds`},
		{"group.id=g\ngroup.instance.id=i\nauto.offset.reset=earliest\nisolation.level=read_committed\nfetch.min.bytes=7", nil,
			"group=g|group-instance-id=i|from=beginning|read-committed=true|fetch-min-bytes=7"},
		{"group.id=\nclient.id=", nil, ""},
		{"group.id=g", map[string]string{"partition": "0"}, "ignored group.id"},
		{"retries=3\nkey.serializer=x\ns3cret\nWrong Name=s3cret\n\x1b[31m=1", nil, "ignored retries key.serializer line 3 line 4 line 5"},
		{"security.protocol=PLAINTEXT\nssl.truststore.location=x\n" + jaas, nil, "ignored ssl.truststore.location sasl.jaas.config"},
		{jaas, nil, "ignored sasl.jaas.config"},
		{"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n" + jaas, nil, "sasl=scram-sha-512|sasl-user=alice|sasl-password=s3cret"},
		{"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n" + jaas, map[string]string{"sasl-password-file": "f"}, "sasl=scram-sha-512|sasl-user=alice"},
		{"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n" + jaas, map[string]string{"sasl-user": "bob"}, "sasl=scram-sha-512"},
		{"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n" + jaas, nil, "sasl=plain|fault F:3: sasl.jaas.config names another login module than the mechanism plain needs; use PlainLoginModule"},
		{"security.protocol=SASL_SSL", nil, "tls=true|fault F:1: security.protocol: sasl.mechanism is missing, which in Java means GSSAPI; takt has it, if sasl.mechanism=GSSAPI says so"},
		{"security.protocol=SASL_SSL\nsasl.mechanism=DIGEST-MD5", nil, `tls=true|fault F:2: sasl.mechanism: the mechanism "DIGEST-MD5" is unknown; takt has PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and GSSAPI`},
		{"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=file:///tmp/token", nil, "tls=true|sasl=oauthbearer|sasl-token-file=/tmp/token"},
		{"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://a/t\nsasl.jaas.config=OAuthBearerLoginModule required clientId=c clientSecret=s scope=x;", nil, "tls=true|sasl=oauthbearer|sasl-token-url=https://a/t|sasl-user=c|sasl-scope=x|sasl-password=s"},
		{"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=broker\nsasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=\"/k\" principal=\"load@A\";", nil, "sasl=gssapi|sasl-service=broker|sasl-user=load@A|sasl-keytab=/k"},
		{"security.protocol=TLS", nil, `fault F:1: security.protocol: "TLS" is not PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL`},
		{"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=ca\nssl.keystore.type=PEM\nssl.keystore.location=me\nssl.endpoint.identification.algorithm=", nil,
			"tls=true|tls-any-host=true|tls-ca-cert=ca|tls-cert-file=me"},
		{"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=ca", map[string]string{"tls": "false"}, "ignored ssl.truststore.type ssl.truststore.location"},
		{"security.protocol=SSL\nssl.truststore.location=ca.jks\nssl.truststore.password=s3cret", map[string]string{"tls-ca-cert": "x"}, "tls=true"},
		{"security.protocol=SSL\nssl.truststore.location=ca.jks\nssl.truststore.password=s3cret", nil,
			"tls=true|fault F:2: ssl.truststore.location: takt reads stores of the type PEM only; convert it with keytool -exportcert -rfc -keystore FILE -alias NAME -file ca.pem, and write ssl.truststore.type=PEM and the new file"},
		{"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=me\nssl.key.password=s3cret", nil,
			"tls=true|fault F:4: ssl.key.password: takt cannot read keys with a password; write the key without one: openssl pkey -in FILE -out client.pem, with chmod 600"},
		{"security.protocol=SSL\nssl.truststore.certificates=-----BEGIN CERTIFICATE----- \\\n YWJj \\\n -----END CERTIFICATE-----", nil, "tls=true|pem tls-ca-cert"},
		{"security.protocol=SSL\nssl.truststore.certificates=nothing", nil,
			`tls=true|fault F:2: ssl.truststore.certificates: no text between -----BEGIN …----- and -----END …----- was found; end the lines within the value with \`},
		{"config.providers=file\nbootstrap.servers=${file:/etc/x:b}", nil, "ignored config.providers|fault F:2: bootstrap.servers: refers to a config provider, which takt does not ask; write the value itself"},
	} {
		path := written(t, c.text, 0o600)
		r := Read(path, flagsOf(c.given))
		if got := result(r, path); got != c.want {
			t.Errorf("%q, given %v:\ngot  %s\nwant %s", c.text, c.given, got, c.want)
		}
	}
}

// What a command lacks is named, and not checked.
func TestOtherCommand(t *testing.T) {
	path := written(t, "acks=2\nfetch.min.bytes=1", 0o600)
	if got := result(Read(path, flagsOf(nil, "fetch-min-bytes")), path); got != "fetch-min-bytes=1|ignored acks" {
		t.Error(got)
	}
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		text string
		mode os.FileMode
		want bool
	}{{"sasl.jaas.config=x", 0o644, true}, {"sasl.jaas.config=x", 0o640, false}, {"acks=all", 0o644, false}, {"ssl.keystore.password=x", 0o604, true}} {
		if got := Read(written(t, c.text, c.mode), flagsOf(nil)).Open; got != c.want {
			t.Errorf("%s, mode %o: %v", c.text, c.mode, got)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "no-such-file"): "no such file",
		t.TempDir(): "is a directory",
		written(t, strings.Repeat("a=1\n", maxBytes/4+1), 0o600): "more than 1 MiB",
	} {
		if got := result(Read(path, flagsOf(nil)), path); !strings.Contains(got, want) || !strings.Contains(got, "--properties") {
			t.Errorf("%s: %s", path, got)
		}
	}
}
