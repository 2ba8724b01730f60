package cluster

import (
	"context"
	"os"
	"strings"

	"github.com/IBM/sarama"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// SASL is how takt says who it is. At most one of the passwords is given.
type SASL struct {
	Mechanism    string // plain, scram-sha-256 or scram-sha-512; "": none
	User         string
	Password     takt.Secret
	PasswordFile string

	password string // what was found
}

// The names of SASL.Mechanism.
const (
	SASLPlain    = "plain"
	SASLScram256 = "scram-sha-256"
	SASLScram512 = "scram-sha-512"
)

func (s *SASL) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Choice(&s.Mechanism, SASLPlain, SASLScram256, SASLScram512), "sasl", "authenticate by `plain|scram-sha-256|scram-sha-512`")
	fs.Var(value.Text(&s.User), "sasl-user", "`NAME` to authenticate with")
	fs.Var(value.Secret(&s.Password), "sasl-password", "`PASSWORD` of --sasl-user; better from TAKT_SASL_PASSWORD or --sasl-password-file")
	fs.Var(value.InFile(&s.PasswordFile), "sasl-password-file", "password of --sasl-user in `FILE`")
}

// read checks the flags and finds the password.
func (s *SASL) read() error {
	s.password = string(s.Password)
	switch {
	case s.Mechanism == "":
		if s.User+s.password+s.PasswordFile != "" {
			return value.Faultf("--sasl-user or a password is given without --sasl; name the mechanism: plain, scram-sha-256 or scram-sha-512")
		}
		return nil
	case s.User == "":
		return value.Faultf("--sasl is given without --sasl-user; add the name")
	case s.password != "" && s.PasswordFile != "":
		return value.Faultf("both --sasl-password and --sasl-password-file are given; keep one")
	}
	if s.PasswordFile != "" {
		b, err := os.ReadFile(s.PasswordFile)
		if err != nil {
			return value.Faultf("cannot read the password: %w; check --sasl-password-file", err)
		}
		s.password = strings.TrimRight(string(b), "\r\n")
	}
	if s.password == "" {
		return value.Faultf("--sasl is given without a password; add --sasl-password-file, or TAKT_SASL_PASSWORD in the environment")
	}
	return nil
}

// Secrets is what is to be taken out of texts.
func (s *SASL) Secrets() []string {
	if s.password == "" {
		return nil
	}
	return []string{s.password}
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
		SASLPlain: sarama.SASLTypePlaintext, SASLScram256: sarama.SASLTypeSCRAMSHA256, SASLScram512: sarama.SASLTypeSCRAMSHA512,
	}[s.Mechanism]
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
