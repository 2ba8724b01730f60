package jms

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/tlsflags"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Broker is the broker's address and the settings for connecting.
type Broker struct {
	URL            string // "": URL of the acceptor, or defaultURL
	Acceptor       string
	User           string
	Password       takt.Secret
	Protocol       string
	ClientID       string
	ConnectTimeout time.Duration
	Reconnect      time.Duration // 0: a lost connection ends the run
	QueuePrefix    string
	TopicPrefix    string
	CA             string // a PEM file
	Insecure       bool

	flag    string // flag that sets the URL
	managed bool   // the flags of TLS are for --management, too
	broker  broker
}

// defaultURL is artemis perf's default.
const defaultURL = "tcp://localhost:61616"

func newBroker() Broker {
	return Broker{ConnectTimeout: 10 * time.Second, Reconnect: 5 * time.Minute, flag: "--url"}
}

// broker is a parsed URL.
type broker struct {
	addr           string
	tls            *tls.Config // nil: plain TCP
	user, password string
	ignored        []string // names of options for CORE only
	scheme         string
	others         []broker // further members of a list
}

// members are the brokers of a list. Any of them may do the work.
func (b broker) members() []broker { return append([]broker{b}, b.others...) }

// shown is the URL without user, password and options.
func (b broker) shown() string {
	var list []string
	for _, m := range b.members() {
		list = append(list, m.scheme+"://"+m.addr)
	}
	return strings.Join(list, ",")
}

func (b broker) secrets() (list []string) {
	for _, m := range b.members() {
		if m.password != "" {
			list = append(list, m.password)
		}
	}
	return list
}

// validate reports all faults at once and reads the files that flags name.
func (b *Broker) validate() (faults value.Faults) {
	faults.If(!strings.EqualFold(cmp.Or(b.Protocol, "AMQP"), "AMQP"),
		"takt speaks AMQP 1.0, which an acceptor of Artemis takes on the same port, and not %s; drop --protocol", b.Protocol)
	faults.If(b.ConnectTimeout <= 0, "--connect-timeout must be above 0; a broker that never answers would hang the run")
	faults.If(b.Reconnect < 0, "--reconnect is %v; give a time, or 0 to end the run when a connection is lost", b.Reconnect)
	faults.If(b.User == "" && b.Password != "", "--password is given without --user; add the user")
	url, err := b.url()
	if err == nil {
		err = b.parse(url)
	}
	faults.Add(err, b.readTLS())
	return faults
}

func (b *Broker) url() (string, error) {
	if b.URL != "" || b.Acceptor == "" {
		return cmp.Or(b.URL, defaultURL), nil
	}
	for _, path := range []string{"etc/broker.xml", "../etc/broker.xml"} {
		text, err := files.ReadFile(filepath.FromSlash(path))
		if err == nil {
			return acceptorURL(text, b.Acceptor, path)
		}
	}
	return "", value.Faultf("--acceptor %s is looked for in etc/broker.xml of the instance, which is neither here nor in the folder above; go there, or give --url", b.Acceptor)
}

// acceptorURL finds the URL of an acceptor in a broker instance's configuration. The acceptor
// may listen on every interface, which is no address to connect to.
func acceptorURL(text []byte, name, path string) (string, error) {
	var config struct {
		Core struct {
			Acceptors []struct {
				Name string `xml:"name,attr"`
				URL  string `xml:",chardata"`
			} `xml:"acceptors>acceptor"`
		} `xml:"core"`
	}
	if err := xml.Unmarshal(text, &config); err != nil {
		return "", value.Faultf("cannot read %s: %w; give --url", path, err)
	}
	for _, a := range config.Core.Acceptors {
		if a.Name == name {
			url, _, _ := strings.Cut(strings.TrimSpace(a.URL), "?")
			return strings.Replace(url, "//0.0.0.0:", "//localhost:", 1), nil
		}
	}
	return "", value.Faultf("%s has no acceptor %q; name another with --acceptor, or give --url", path, name)
}

// schemes are the schemes of brokers' URLs with their default ports.
func schemes() map[string]string {
	return map[string]string{"tcp": "61616", "amqp": "5672", "amqps": "5671"}
}

// parse reads tcp://, amqp:// or amqps://HOST:PORT, or a list of them as JMS clients write it.
func (b *Broker) parse(text string) error {
	b.broker = broker{}
	list, options := value.Addresses(text)
	shared, err := url.ParseQuery(options)
	if err != nil {
		return value.About(fmt.Errorf("bad options %.60q in %s: %w", options, b.flag, err), b.flag)
	}
	for i, one := range list {
		m, err := b.parseMember(strings.TrimSpace(one), shared)
		switch {
		case err != nil:
			return value.About(err, b.flag)
		case i == 0:
			b.broker = m
		case (m.tls != nil) != (b.broker.tls != nil):
			return value.About(fmt.Errorf("%s has brokers with and without TLS; write all as amqps://, or none", b.flag), b.flag)
		default:
			b.broker.others = append(b.broker.others, m)
		}
	}
	return nil
}

// parseMember reads one URL of a list, whose options are shared.
func (b *Broker) parseMember(text string, shared url.Values) (broker, error) {
	u, err := url.Parse(text)
	if err != nil {
		return broker{}, fmt.Errorf("bad %s: it is not a URL; write tcp://HOST:PORT, amqp://HOST:PORT or amqps://HOST:PORT", b.flag)
	}
	port, known := schemes()[u.Scheme]
	if !known || u.Hostname() == "" {
		return broker{}, fmt.Errorf("bad %s %q; write tcp://HOST:PORT, amqp://HOST:PORT or amqps://HOST:PORT, or a list: failover:(URL,URL)", b.flag, u.Redacted())
	}
	port = cmp.Or(u.Port(), port)
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return broker{}, fmt.Errorf("bad port in %s %q; give one from 1 to 65535", b.flag, u.Redacted())
	}
	password, _ := u.User.Password()
	m := broker{
		scheme: u.Scheme, addr: net.JoinHostPort(u.Hostname(), port), user: cmp.Or(b.User, u.User.Username()), password: cmp.Or(string(b.Password), password),
	}
	secure := u.Scheme == "amqps"
	for _, options := range []url.Values{u.Query(), shared} {
		for name, value := range options {
			switch name {
			case "sslEnabled":
				secure = secure || slices.Contains(value, "true")
			case "ha": // takt connects again in any case
			default:
				m.ignored = append(m.ignored, name)
			}
		}
	}
	slices.Sort(m.ignored)
	m.ignored = slices.Compact(m.ignored)
	if secure {
		m.tls = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: b.Insecure}
	}
	return m, nil
}

func (b *Broker) readTLS() error {
	config := b.broker.tls
	if config == nil {
		if (b.CA != "" || b.Insecure) && !b.managed {
			return value.About(fmt.Errorf("flags of TLS are given with %s, which is plain TCP; write amqps://, or tcp://…?sslEnabled=true", b.flag), b.flag)
		}
		return nil
	}
	if b.CA == "" {
		return nil
	}
	roots, err := b.authorities()
	if err != nil {
		return err
	}
	config.RootCAs = roots
	for i := range b.broker.others {
		b.broker.others[i].tls = config
	}
	return nil
}

// authorities reads --tls-ca-cert; nil: those of the system.
func (b *Broker) authorities() (*x509.CertPool, error) {
	return tlsflags.Authorities(tlsflags.ReadFile, b.CA, "tls-ca-cert")
}

// dial connects to one member; o has the other settings.
func (b broker) dial(ctx context.Context, o amqp.Options) (*amqp.Conn, error) {
	o.Addr, o.TLS, o.User, o.Password = b.addr, b.tls, b.user, b.password
	c, err := amqp.Dial(ctx, o)
	switch {
	case errors.Is(err, amqp.ErrRefused):
		return nil, value.Faultf("%w: --user and --password", err)
	case errors.Is(err, amqp.ErrWantsTLS):
		return nil, fmt.Errorf("%w; write amqps://%s", err, b.addr)
	case errors.Is(err, amqp.ErrNoTLS):
		return nil, fmt.Errorf("%w; write amqp://%s", err, b.addr)
	case err != nil:
		return nil, value.Faultf("%w; start a broker there, or name another with --url", err)
	}
	return c, nil
}
