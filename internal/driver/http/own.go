package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// build makes the request of all operations and checks it.
func (o *Options) build() error {
	q := &o.request
	q.Method = strings.ToUpper(o.Method)
	q.Target = o.url.RequestURI()
	q.Host = o.url.Host
	if o.Host != "" {
		q.Host = o.Host
	}
	q.Close = o.DisableKeepAlive
	if o.Body != "" {
		q.Body = []byte(o.Body)
	}
	q.Header = nil
	for _, f := range o.Header {
		if strings.EqualFold(f.Name, "host") {
			q.Host = f.Value
			continue
		}
		q.Header = append(q.Header, f)
	}
	for _, f := range o.defaults() {
		if f.Value != "" && !o.Header.has(f.Name) {
			q.Header = append(q.Header, f)
		}
	}
	_, err := q.Render()
	return err
}

// defaults are the headers that stand in a request unless -H gives them.
func (o *Options) defaults() []http1.Field {
	fields := []http1.Field{{Name: "User-Agent", Value: "takt"}, {Name: "Accept", Value: o.Accept}, {Name: "Authorization", Value: o.basicAuth()}}
	if !o.DisableCompression {
		fields = append(fields, http1.Field{Name: "Accept-Encoding", Value: "gzip"})
	}
	if len(o.request.Body) > 0 {
		fields = append(fields, http1.Field{Name: "Content-Type", Value: o.ContentType})
	}
	return fields
}

func (o *Options) basicAuth() string {
	user := string(o.Auth)
	if user == "" && o.url.User != nil {
		password, _ := o.url.User.Password()
		user = o.url.User.Username() + ":" + password
	}
	if user == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user))
}

func (o *Options) openOwn() (*takt.Driver, error) {
	q, err := o.request.Render()
	if err != nil {
		return nil, err
	}
	conf, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	return &takt.Driver{
		Loop: &takt.Loop{
			Network: "tcp", Addr: o.addr(), TLS: conf,
			ConnectTimeout: o.ConnectTimeout, Timeout: o.Timeout,
			Codec: func(int) takt.Codec {
				return http1.NewCodec(q.Bytes, http1.Options{Head: q.Head, Close: q.Close, Fail: o.FailOn.Class})
			},
		},
		Finish: finish,
	}, nil
}

// tlsConfig is nil for a plain http URL.
func (o *Options) tlsConfig() (*tls.Config, error) {
	if o.url == nil || o.url.Scheme != "https" {
		return nil, nil
	}
	conf := &tls.Config{ServerName: o.url.Hostname(), InsecureSkipVerify: o.Insecure, NextProtos: []string{"http/1.1"}}
	if o.CACert == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(o.CACert)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorities: %w; check --cacert", err)
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s; --cacert wants PEM", o.CACert)
	}
	return conf, nil
}

// finish warns of redirects, which are not followed within an operation.
func finish(_ context.Context, r *takt.Report) error {
	var n uint64
	for code, count := range r.Status {
		if strings.HasPrefix(code, "3") && code != "304" {
			n += count
		}
	}
	if n > 0 {
		r.Warnings = append(r.Warnings, takt.Warning{Code: "redirects", Message: fmt.Sprintf(
			"%d answers were redirects, which are not followed within an operation; give the final URL, or --fail-on 3xx,4xx,5xx to count them as failed", n)})
	}
	return nil
}
