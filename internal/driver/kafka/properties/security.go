package properties

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
)

// connect reads where the brokers are, and how to speak with them.
func (r *reader) connect() {
	if p := r.get("bootstrap.servers"); p != nil {
		r.set(p, "brokers", strings.Join(strings.FieldsFunc(p.value, func(c rune) bool { return c == ',' || c == ' ' }), ","))
	}
	encrypted, authenticated := r.protocol()
	if given, ok := r.flags.Given("tls"); ok {
		encrypted = given == "true"
	}
	if encrypted {
		r.trust()
		r.identify()
	}
	if authenticated || r.isGiven("sasl") {
		r.authenticate()
	}
}

// protocol reads security.protocol. Without it Java does not look at ssl.* and sasl.*, either.
func (r *reader) protocol() (encrypted, authenticated bool) {
	p := r.get("security.protocol")
	if p == nil {
		return false, false
	}
	switch strings.ToUpper(p.value) {
	case "PLAINTEXT":
	case "SSL":
		encrypted = true
	case "SASL_PLAINTEXT":
		authenticated = true
	case "SASL_SSL":
		encrypted, authenticated = true, true
	default:
		r.fault(p, "%.60q is not PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", p.value)
		return false, false
	}
	if encrypted {
		r.set(p, "tls", "true")
	}
	return encrypted, authenticated
}

// trust reads with what the brokers' certificates are verified.
func (r *reader) trust() {
	kind, location, inline := r.get("ssl.truststore.type"), r.get("ssl.truststore.location"), r.get("ssl.truststore.certificates")
	if p := r.get("ssl.endpoint.identification.algorithm"); p != nil && !r.isGiven("tls-insecure-skip-verify") {
		switch strings.ToLower(p.value) {
		case "":
			r.set(p, "tls-any-host", "true")
		case "https":
		default:
			r.fault(p, "%.60q is not https; leave it empty to accept certificates of other hosts", p.value)
		}
	}
	if r.isGiven("tls-ca-cert") {
		r.skip("ssl.truststore.password")
		return
	}
	switch {
	case inline != nil && inline.value != "":
		r.text(inline, "tls-ca-cert", inline.value)
	case location != nil && location.value != "":
		if r.isPEM(location, kind, "keytool -exportcert -rfc -keystore FILE -alias NAME -file ca.pem") {
			r.set(location, "tls-ca-cert", location.value)
		} else {
			r.skip("ssl.truststore.password")
		}
	}
}

// identify reads the client certificate.
func (r *reader) identify() {
	kind, location := r.get("ssl.keystore.type"), r.get("ssl.keystore.location")
	key, chain := r.get("ssl.keystore.key"), r.get("ssl.keystore.certificate.chain")
	secret := r.get("ssl.key.password")
	switch {
	case r.isGiven("tls-cert-file", "tls-key-file"):
		r.skip("ssl.keystore.password")
	case chain != nil && key != nil:
		if !r.isLocked(secret) {
			r.text(chain, "tls-cert-file", chain.value)
			r.text(key, "tls-key-file", key.value)
		}
	case location != nil && location.value != "":
		if !r.isPEM(location, kind, "openssl pkcs12 -in FILE -nodes -out client.pem") {
			r.skip("ssl.keystore.password")
		} else if !r.isLocked(secret) {
			r.set(location, "tls-cert-file", location.value)
		}
	}
}

// skip marks properties that have no effect beside another one.
func (r *reader) skip(keys ...string) {
	for _, key := range keys {
		r.get(key)
	}
}

// isPEM refuses stores in formats that only Java reads, and says how to convert them. Java's default
// is JKS.
func (r *reader) isPEM(location, kind *property, command string) bool {
	if kind != nil && strings.EqualFold(kind.value, "PEM") {
		return true
	}
	which := "ssl.truststore"
	if strings.HasPrefix(location.key, "ssl.keystore") {
		which = "ssl.keystore"
	}
	r.fault(location, "takt reads stores of the type PEM only; convert it with %s, and write %s.type=PEM and the new file", command, which)
	return false
}

// isLocked refuses a key with a password.
func (r *reader) isLocked(secret *property) bool {
	if secret == nil || secret.value == "" {
		return false
	}
	r.fault(secret, "takt cannot read keys with a password; write the key without one: openssl pkey -in FILE -out client.pem, with chmod 600")
	return true
}

// text keeps a PEM text of the file in place of a file. Java accepts blanks in place of line
// breaks.
func (r *reader) text(p *property, flag, text string) {
	blocks := rewrap(text)
	if len(blocks) == 0 {
		r.fault(p, "no text between -----BEGIN …----- and -----END …----- was found; end the lines within the value with \\")
		return
	}
	r.out.PEM[flag] = blocks
}

const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"

// rewrap writes the blocks of a PEM text with the line breaks that others than Java need.
func rewrap(text string) []byte {
	var out bytes.Buffer
	for {
		_, rest, found := strings.Cut(text, begin)
		kind, rest, named := strings.Cut(rest, dashes)
		body, rest, ended := strings.Cut(rest, end+kind+dashes)
		if !found || !named || !ended {
			return out.Bytes()
		}
		if der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), "")); err == nil {
			_ = pem.Encode(&out, &pem.Block{Type: kind, Bytes: der}) // a buffer accepts everything
		}
		text = rest
	}
}

// authenticate reads who the client is.
func (r *reader) authenticate() {
	mechanism := r.mechanism()
	if mechanism == "oauthbearer" {
		r.tokens()
	}
	if p := r.get("sasl.kerberos.service.name"); p != nil && mechanism == "gssapi" {
		r.set(p, "sasl-service", p.value)
	}
	config := r.get("sasl.jaas.config")
	if mechanism == "" || config == nil || r.isGiven("sasl-user") {
		return
	}
	l, err := parseJAAS(config.value)
	if err == nil {
		err = l.check(mechanism)
	}
	if err != nil {
		r.out.Faults = append(r.out.Faults, fmt.Errorf("%s:%d: %w", r.path, config.line, err))
		return
	}
	if l.user != "" {
		r.set(config, "sasl-user", l.user)
	}
	if l.keytab != "" && !r.isGiven("sasl-keytab") {
		r.set(config, "sasl-keytab", l.keytab)
	}
	if l.scope != "" && r.entries["sasl.oauthbearer.scope"] == nil {
		r.set(config, "sasl-scope", l.scope)
	}
	if l.password != "" && !r.isGiven("sasl-password", "sasl-password-file") {
		r.set(config, "sasl-password", l.password)
	}
}

// mechanism is the word of --sasl; "": a fault was found.
func (r *reader) mechanism() string {
	p := r.get("sasl.mechanism")
	if given, ok := r.flags.Given("sasl"); ok {
		return given
	}
	known := map[string]string{"PLAIN": "plain", "SCRAM-SHA-256": "scram-sha-256", "SCRAM-SHA-512": "scram-sha-512", "OAUTHBEARER": "oauthbearer", "GSSAPI": "gssapi"}
	const advice = "takt has PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and GSSAPI"
	if p == nil {
		if q := r.entries["security.protocol"]; q != nil {
			r.fault(q, "sasl.mechanism is missing, which in Java means GSSAPI; takt has it, if sasl.mechanism=GSSAPI says so")
		}
		return ""
	}
	word := known[p.value]
	if word == "" {
		r.fault(p, "the mechanism %.60q is unknown; %s", p.value, advice)
		return ""
	}
	r.set(p, "sasl", word)
	return word
}

// tokens reads where the tokens of OAUTHBEARER are from: a file, or an authorization server. Java chooses
// by the class of a callback handler, which has no other effect here.
func (r *reader) tokens() {
	r.skip("sasl.login.callback.handler.class")
	for _, f := range []struct{ key, flag string }{
		{"sasl.oauthbearer.client.credentials.client.id", "sasl-user"}, {"sasl.oauthbearer.client.credentials.client.secret", "sasl-password"}, {"sasl.oauthbearer.scope", "sasl-scope"},
	} {
		if p := r.get(f.key); p != nil {
			r.set(p, f.flag, p.value)
		}
	}
	p := r.get("sasl.oauthbearer.token.endpoint.url")
	if p == nil || r.isGiven("sasl-token", "sasl-token-file", "sasl-token-url") {
		return
	}
	if u, err := url.Parse(p.value); err == nil && u.Scheme == "file" {
		r.set(p, "sasl-token-file", u.Path)
		return
	}
	r.set(p, "sasl-token-url", p.value)
}
