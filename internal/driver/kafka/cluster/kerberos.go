package cluster

import (
	"context"
	"strings"

	"github.com/IBM/sarama"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
)

// Kerberos says how takt gets tickets, for GSSAPI. User is the principal, which may name its realm.
type Kerberos struct {
	Keytab  string // "": a password
	Service string // of the brokers
	Config  string

	config *config.Config
	keytab *keytab.Keytab
}

// The defaults of Kerberos.
const (
	kerberosService = "kafka"
	kerberosConfig  = "/etc/krb5.conf"
)

// given reports whether a flag of Kerberos says something.
func (k *Kerberos) given() bool {
	return k.Keytab != "" || k.Service != "" && k.Service != kerberosService || k.Config != "" && k.Config != kerberosConfig
}

// realm splits a principal.
func (s *SASL) realm() (name, realm string) {
	name, realm, found := strings.Cut(s.User, "@")
	if !found && s.Kerberos.config != nil {
		realm = s.Kerberos.config.LibDefaults.DefaultRealm
	}
	return name, realm
}

// readKerberos checks the flags of GSSAPI, and reads their files.
func (s *SASL) readKerberos() (err error) {
	k := &s.Kerberos
	switch {
	case s.User == "":
		return value.Faultf("--sasl gssapi is given without --sasl-user; add the principal, such as load@EXAMPLE.COM")
	case k.Service == "":
		return value.Faultf("--sasl-service is empty; name the service of the brokers, such as kafka")
	case k.Keytab != "" && s.password+s.PasswordFile != "":
		return value.Faultf("both --sasl-keytab and a password are given; keep one")
	}
	read := files.ReadFile
	if k.Config == kerberosConfig {
		read = files.ReadOwn // the system's, which takt chooses
	}
	text, err := read(k.Config)
	if err == nil {
		k.config, err = config.NewFromString(string(text))
	}
	if err != nil {
		return value.Faultf("cannot read the configuration of Kerberos: %w; check --sasl-krb5-conf", err)
	}
	_, realm := s.realm()
	if realm == "" {
		return value.Faultf("--sasl-user has no realm, and %s has no default_realm; write NAME@REALM", k.Config)
	}
	if err := k.known(realm); err != nil {
		return err
	}
	if k.Keytab == "" {
		return s.readPassword()
	}
	k.keytab = new(keytab.Keytab)
	if text, err = files.ReadFile(k.Keytab); err == nil {
		err = k.keytab.Unmarshal(text)
	}
	if err != nil {
		return value.Faultf("cannot read the keytab: %w; check --sasl-keytab", err)
	}
	return nil
}

// known refuses a realm whose servers only DNS knows to a confined process: the session has chosen the realm,
// so its DNS could name any machine. Those of the file are the server's choice.
func (k *Kerberos) known(realm string) error {
	if !reach.IsConfined() {
		return nil
	}
	k.config.LibDefaults.DNSLookupKDC = false
	if _, _, err := k.config.GetKDCs(realm, true); err != nil {
		return value.Faultf("the realm %s has no server in %s, and a session asks no other one; give another --sasl-user", realm, k.Config)
	}
	return nil
}

// mechanism is what franz-go takes. Each connection gets a ticket of its own, so a ticket that expires
// matters to no connection.
func (s *SASL) kerberos() sasl.Mechanism {
	k := s.Kerberos
	name, realm := s.realm()
	return kerberos.Auth{
		Service: k.Service,
		ClientFn: func(context.Context) *client.Client {
			if k.keytab != nil {
				return client.NewWithKeytab(name, realm, k.keytab, k.config, client.DisablePAFXFAST(true))
			}
			return client.NewWithPassword(name, realm, s.password, k.config, client.DisablePAFXFAST(true))
		},
	}.AsMechanism()
}

// saramaKerberos sets the settings in the configuration of a sarama client.
func (s *SASL) saramaKerberos(c *sarama.Config) {
	g := &c.Net.SASL.GSSAPI
	g.Username, g.Realm = s.realm()
	g.ServiceName, g.KerberosConfigPath, g.DisablePAFXFAST = s.Kerberos.Service, s.Kerberos.Config, true
	if g.AuthType, g.Password = sarama.KRB5_USER_AUTH, s.password; s.Kerberos.Keytab != "" {
		g.AuthType, g.KeyTabPath = sarama.KRB5_KEYTAB_AUTH, s.Kerberos.Keytab
	}
}
