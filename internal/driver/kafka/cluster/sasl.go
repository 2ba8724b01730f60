package cluster

import (
	"context"
	"net/url"
	"strings"

	"github.com/IBM/sarama"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// SASL is how takt says who it is. At most one of the passwords is given.
type SASL struct {
	Mechanism    string // one of the names below; "": none
	User         string
	Password     takt.Secret
	PasswordFile string
	Token        takt.Secret // of OAUTHBEARER
	TokenFile    string
	TokenURL     string // of an authorization server, which knows User and the password
	Scope        string
	Kerberos     Kerberos

	password string  // what was found
	tokens   *tokens // nil: not OAUTHBEARER
}

// The names of SASL.Mechanism.
const (
	SASLPlain    = "plain"
	SASLScram256 = "scram-sha-256"
	SASLScram512 = "scram-sha-512"
	SASLOAuth    = "oauthbearer"
	SASLKerberos = "gssapi"
)

func (s *SASL) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Choice(&s.Mechanism, SASLPlain, SASLScram256, SASLScram512, SASLOAuth, SASLKerberos), "sasl", "authenticate by `plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi`; gssapi is Kerberos")
	fs.Var(value.Text(&s.User), "sasl-user", "`NAME` to authenticate with; of gssapi the principal, of oauthbearer the client's ID")
	fs.Var(value.Secret(&s.Password), "sasl-password", "`PASSWORD` of --sasl-user; better from TAKT_SASL_PASSWORD or --sasl-password-file")
	fs.Var(value.InFile(&s.PasswordFile), "sasl-password-file", "password of --sasl-user in `FILE`")
	fs.Var(value.Secret(&s.Token), "sasl-token", "`TOKEN` of OAUTHBEARER; better from TAKT_SASL_TOKEN or --sasl-token-file")
	fs.Var(value.InFile(&s.TokenFile), "sasl-token-file", "token of OAUTHBEARER in `FILE`, read again for each connection")
	fs.Var(value.Target(&s.TokenURL), "sasl-token-url", "`URL` of an authorization server, which gives tokens to the client --sasl-user with its password")
	fs.Var(value.Text(&s.Scope), "sasl-scope", "`SCOPE` of the tokens of --sasl-token-url")
	fs.Var(value.OwnedPath(&s.Kerberos.Keytab, "a library of Kafka opens it; give --sasl-password"), "sasl-keytab", "key of the principal --sasl-user in this `FILE`")
	fs.Var(value.Text(&s.Kerberos.Service), "sasl-service", "`NAME` of the brokers' service, of gssapi")
	fs.Var(value.OwnedPath(&s.Kerberos.Config, "it names other files and machines; leave it out for the server's"), "sasl-krb5-conf", "configuration of Kerberos in `FILE`")
}

// read checks the flags and finds the password.
func (s *SASL) read() error {
	s.password, s.tokens = string(s.Password), nil
	switch {
	case s.Mechanism == SASLOAuth:
		return s.readTokens()
	case s.Mechanism == SASLKerberos:
		return s.readKerberos()
	case s.Kerberos.given():
		return value.Faultf("flags of Kerberos are given without --sasl gssapi; add it")
	case s.Token != "" || s.TokenFile+s.TokenURL+s.Scope != "":
		return value.Faultf("flags of tokens are given without --sasl oauthbearer; add it")
	case s.Mechanism == "":
		if s.User+s.password+s.PasswordFile != "" {
			return value.Faultf("--sasl-user or a password is given without --sasl; name the mechanism: plain, scram-sha-256, scram-sha-512, oauthbearer or gssapi")
		}
		return nil
	case s.User == "":
		return value.Faultf("--sasl is given without --sasl-user; add the name")
	case s.password != "" && s.PasswordFile != "":
		return value.Faultf("both --sasl-password and --sasl-password-file are given; keep one")
	}
	return s.readPassword()
}

func (s *SASL) readPassword() error {
	if s.PasswordFile != "" {
		b, err := files.ReadFile(s.PasswordFile)
		if err != nil {
			return value.Faultf("cannot read the password: %w; check --sasl-password-file", err)
		}
		s.password = strings.TrimRight(string(files.TextOf(b)), "\r\n")
	}
	if s.password == "" {
		return value.Faultf("--sasl is given without a password; add --sasl-password-file, or TAKT_SASL_PASSWORD in the environment")
	}
	return nil
}

// readTokens checks where the tokens of OAUTHBEARER are from.
func (s *SASL) readTokens() error {
	ways := 0
	for _, given := range []bool{s.Token != "", s.TokenFile != "", s.TokenURL != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return value.Faultf("--sasl oauthbearer needs one of --sasl-token-file, --sasl-token-url, and TAKT_SASL_TOKEN in the environment; give one")
	case s.TokenURL == "" && (s.User+s.password+s.PasswordFile+s.Scope != ""):
		return value.Faultf("--sasl-user, a password and --sasl-scope of --sasl oauthbearer are for --sasl-token-url; add it, or leave them out")
	case s.TokenURL != "" && s.User == "":
		return value.Faultf("--sasl-token-url is given without --sasl-user; add the client's ID")
	}
	if s.TokenURL != "" {
		u, err := url.Parse(s.TokenURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return value.Faultf("--sasl-token-url is not a URL; write https://HOST/PATH")
		}
		if err := s.readPassword(); err != nil {
			return err
		}
	}
	s.tokens = &tokens{fixed: string(s.Token), file: s.TokenFile, url: s.TokenURL, user: s.User, pass: s.password, scope: s.Scope}
	if s.TokenFile != "" {
		_, err := s.tokens.next(context.Background())
		return value.About(err, "sasl-token-file")
	}
	return nil
}

// Secrets is what is to be taken out of texts.
func (s *SASL) Secrets() []string {
	var list []string
	for _, one := range []string{s.password, string(s.Token)} {
		if one != "" {
			list = append(list, one)
		}
	}
	if s.tokens != nil {
		list = append(list, s.tokens.seen()...)
	}
	return list
}

// FranzMechanism is what franz-go takes, nil for none.
func (s *SASL) FranzMechanism() sasl.Mechanism {
	auth := scram.Auth{User: s.User, Pass: s.password}
	switch s.Mechanism {
	case SASLPlain:
		return plain.Auth{User: s.User, Pass: s.password}.AsMechanism()
	case SASLScram256:
		return auth.AsSha256Mechanism()
	case SASLScram512:
		return auth.AsSha512Mechanism()
	case SASLOAuth:
		return s.tokens.mechanism()
	case SASLKerberos:
		return s.kerberos()
	}
	return nil
}

// sarama sets the settings in the configuration of a sarama client.
func (s *SASL) sarama(c *sarama.Config) {
	if s.Mechanism == "" {
		return
	}
	c.Net.SASL.Enable, c.Net.SASL.User, c.Net.SASL.Password = true, s.User, s.password
	c.Net.SASL.Mechanism = map[string]sarama.SASLMechanism{
		SASLPlain: sarama.SASLTypePlaintext, SASLScram256: sarama.SASLTypeSCRAMSHA256, SASLScram512: sarama.SASLTypeSCRAMSHA512, SASLOAuth: sarama.SASLTypeOAuth,
		SASLKerberos: sarama.SASLTypeGSSAPI,
	}[s.Mechanism]
	if s.tokens != nil {
		c.Net.SASL.TokenProvider = s.tokens
	}
	if s.Mechanism == SASLKerberos {
		s.saramaKerberos(c)
	}
	c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{mechanism: s.FranzMechanism()} }
}

// scramClient lets sarama, which brings no SCRAM of its own, use franz-go's.
type scramClient struct {
	mechanism sasl.Mechanism
	session   sasl.Session
	first     string
	done      bool
}

// Begin implements sarama.SCRAMClient; user and password are in the mechanism.
func (c *scramClient) Begin(_, _, _ string) error {
	session, first, err := c.mechanism.Authenticate(context.Background(), "")
	c.session, c.first = session, string(first)
	return err
}

// Step implements sarama.SCRAMClient: an empty challenge asks for the first message.
func (c *scramClient) Step(challenge string) (string, error) {
	if challenge == "" {
		return c.first, nil
	}
	done, answer, err := c.session.Challenge([]byte(challenge))
	c.done = done
	return string(answer), err
}

// Done implements sarama.SCRAMClient.
func (c *scramClient) Done() bool { return c.done }
