// Package tlsflags is TLS as a load asks for it: the flags, the certificates in the files that they name, the log of
// keys, and what the handshakes of a run agreed on. It makes no connection.
package tlsflags

import (
	"crypto/tls"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// The values of Flags.Min and Flags.Max.
const (
	tls12 = "1.2"
	tls13 = "1.3"
)

// sessionsKept is the number of hosts whose session is kept for the next connection.
const sessionsKept = 64

// Flags are the flags, and what they lead to.
type Flags struct {
	Insecure  bool
	CACert    string
	Cert, Key string
	Min, Max  string // lowest and highest version: 1.2 or 1.3
	Ciphers   CipherSuites
	KeyLog    string // file for the secrets of connections
	Resume    bool   // later connections resume the session of an earlier one

	Config     *tls.Config // what connections to any server have in common, after Read. It is cloned for each
	handshakes handshakes
	keys       *keyLog // of the run; nil: none
}

// New are the flags with their defaults.
func New() Flags { return Flags{Min: tls12, Max: tls13} }

// AddFlags declares the flags.
func (f *Flags) AddFlags(fs *pflag.FlagSet) {
	f.AddFileFlags(fs)
	fs.Var(value.Choice(&f.Min, tls12, tls13), "tls-min", "lowest version of TLS, `1.2|1.3`")
	fs.Var(value.Choice(&f.Max, tls12, tls13), "tls-max", "highest version of TLS, `1.2|1.3`")
	fs.Var(&f.Ciphers, "tls-ciphers", "offer only the cipher suites of `LIST` for TLS 1.2, by their names of IANA or OpenSSL")
	fs.Var(value.OutFile(&f.KeyLog), "tls-keylog", "append the secrets of TLS connections to `FILE`, for Wireshark")
	fs.BoolVar(&f.Resume, "tls-resume", false, "later connections resume the session of an earlier one instead of a full handshake")
}

// AddFileFlags declares those that say whom takt trusts, and who it is.
func (f *Flags) AddFileFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Insecure, "insecure", false, "do not verify the server's certificate")
	fs.Var(value.InFile(&f.CACert), "cacert", "verify the server's certificate with the authorities in this PEM `FILE`")
	fs.Var(value.InFile(&f.Cert), "cert", "client certificate, PEM `FILE`")
	fs.Var(value.InFile(&f.Key), "key", "key of the client certificate, PEM `FILE` (default: the file of --cert)")
}

// Read makes Config.
func (f *Flags) Read() error {
	if err := f.checkVersions(); err != nil {
		return err
	}
	f.Config = &tls.Config{
		InsecureSkipVerify: f.Insecure, VerifyConnection: f.Note, CipherSuites: f.Ciphers.list,
		MinVersion: versionOf(f.Min), MaxVersion: versionOf(f.Max),
	}
	f.Config.GetClientCertificate = f.clientCertificate
	if f.Resume {
		f.Config.ClientSessionCache = tls.NewLRUClientSessionCache(sessionsKept)
	}
	var err error
	if f.Config.RootCAs, err = Authorities(ReadFile, f.CACert, "cacert"); err != nil {
		return err
	}
	f.Config.Certificates, err = Certificates(ReadFile, f.Cert, f.Key, "cert", "key")
	return err
}

// Describe adds what differs from the defaults to Report.Variables.
func (f *Flags) Describe(v map[string]any) {
	for name, text := range map[string]string{"cacert": f.CACert, "cert": f.Cert, "tls_ciphers": f.Ciphers.String()} {
		if text != "" {
			v[name] = text
		}
	}
	if f.Insecure {
		v["insecure"] = true
	}
	if f.Limited() {
		v["tls_max"] = f.Max
	}
}

// Limited reports whether there is a version that connections must not agree on.
func (f *Flags) Limited() bool { return f.Max != tls13 }

func versionOf(name string) uint16 {
	if name == tls13 {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

func (f *Flags) checkVersions() error {
	switch only13 := f.Min == tls13; {
	case only13 && f.Max == tls12:
		return value.Faultf("--tls-min 1.3 is above --tls-max 1.2; drop one of the two")
	case only13 && len(f.Ciphers.list) > 0:
		return value.Faultf("--tls-ciphers is given with --tls-min 1.3: %w", errCipher13)
	}
	return nil
}
