// Package elastic connects to an Elasticsearch or OpenSearch cluster, for the store of
// reports and for the documents of a server under test.
package elastic

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unsafe"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/files"
)

// Options are credentials and trust.
type Options struct {
	User, Password string
	APIKey         string // base64 of id:key, as the server returns it; has priority over user and password
	CAFile         string // PEM file; "": the system's authorities
}

// Cluster is a client of a cluster.
type Cluster struct {
	Where     string // given URL without credentials
	Address   string // HTTP URL without a path
	Path      string // path of the URL, without slashes around it
	transport *http.Transport
	answers   *bounded
	secrets   []string       // texts that no error may show
	client    unsafe.Pointer // *client.Client: see API
}

// API is the client of a cluster. It is not a method, and no field has its type. Otherwise a
// Cluster in an interface would link all 300 methods of the client into the binary, 2 MiB,
// because text/template, which hey and html/template use, may call methods by name.
func API(c *Cluster) *client.Client { return (*client.Client)(c.client) }

// Close closes the connections.
func (c *Cluster) Close() {
	API(c).Stop()
	c.transport.CloseIdleConnections()
}

// dialTime is the time limit for a connection.
const dialTime = 5 * time.Second

// responseTime is the time limit for the start of an answer. The longest calls delete a
// test's documents, or refresh under load.
const responseTime = 5 * time.Minute

// Connect returns the cluster at that URL without contacting it. The URL may contain user and
// password; no error shows them.
func Connect(where string, o Options) (*Cluster, error) {
	u, err := url.Parse(where)
	if err != nil {
		// The error of url.Parse quotes the URL with its password.
		return nil, errors.New("the URL of the cluster cannot be read; give it as elasticsearch://HOST:9200, with what is special in a password escaped")
	}
	if u.User != nil {
		password, _ := u.User.Password()
		o.User, o.Password = cmp.Or(o.User, u.User.Username()), cmp.Or(o.Password, password)
		u.User = nil
	}
	path := strings.Trim(u.Path, "/")
	if u.Hostname() == "" || strings.Contains(path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s is not the URL of a cluster; give it as elasticsearch://HOST:9200", u)
	}
	transport, err := newTransport(o.CAFile)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Where: u.String(), Address: address(u), Path: path, transport: transport, answers: &bounded{transport, MaxAnswer}, secrets: secretsOf(o)}
	options := []client.ClientOptionFunc{
		client.SetURL(c.Address), client.SetHttpClient(&http.Client{Transport: c.answers, CheckRedirect: stay}),
		client.SetSniff(false), client.SetHealthcheck(false), // the addresses from a cluster may be unreachable from here
	}
	switch {
	case o.APIKey != "":
		options = append(options, client.SetHeaders(http.Header{"Authorization": {"ApiKey " + o.APIKey}}))
	case o.User != "":
		options = append(options, client.SetBasicAuth(o.User, o.Password))
	}
	api, err := client.NewSimpleClient(options...)
	c.client = unsafe.Pointer(api)
	return c, err
}

// address is the URL for HTTP. The default port is 9200, unless the scheme is HTTP's own.
func address(u *url.URL) string {
	a := url.URL{Scheme: "http", Host: u.Host}
	if u.Scheme == "https" || strings.HasSuffix(u.Scheme, "+tls") {
		a.Scheme = "https"
	}
	if u.Port() == "" && u.Scheme != a.Scheme {
		a.Host = net.JoinHostPort(u.Hostname(), "9200")
	}
	return a.String()
}

func newTransport(caFile string) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext, // not package reach: a job's store is the server's
		TLSHandshakeTimeout: dialTime,
		IdleConnTimeout:     time.Minute,

		ResponseHeaderTimeout: responseTime,
	}
	if caFile == "" {
		return t, nil
	}
	pem, err := files.ReadOwn(caFile)
	if err != nil {
		return nil, fmt.Errorf("the authority of the cluster's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate; give the PEM file of the authority", caFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	return t, nil
}
