package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/pkg/takt"
)

// classProxy is the class of an operation for which the proxy opened no tunnel.
const classProxy = "proxy"

// proxyError is what a proxy answered to CONNECT.
type proxyError struct {
	addr   string
	status int
	advice string // for a proxy that wants a login
}

func (e *proxyError) Error() string {
	if e.status == http.StatusProxyAuthRequired {
		return fmt.Sprintf("the proxy answers 407 to CONNECT %s; %s", e.addr, e.advice)
	}
	return fmt.Sprintf("the proxy answers %d to CONNECT %s; check what the proxy allows, and that it reaches that address", e.status, e.addr)
}

// Class is the failure class of the operation.
func (*proxyError) Class() string { return classProxy }

// leadTo makes a connection to the proxy one to the server of u: over TLS it asks for a tunnel (RFC 9110,
// 9.3.6). A proxy leads to no machine that takt must not reach.
func (p *Proxy) leadTo(u *url.URL) func(net.Conn) error {
	addr := httpreq.WithoutZone(httpreq.HostPort(u))
	request := &http1.Rendered{Bytes: []byte("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n" + p.login() + "\r\n"), Head: true}
	return func(c net.Conn) error {
		if err := reach.Check("tcp", addr); err != nil || u.Scheme != "https" {
			return err
		}
		codec := http1.NewCodec(request, http1.Options{})
		if _, err := c.Write(codec.Append(nil, &takt.Op{})); err != nil {
			return err
		}
		status, err := answerOf(c, codec)
		if err == nil && status/100 != 2 {
			err = &proxyError{addr, status, p.onLogin()}
		}
		return err
	}
}

// answerOf reads an answer without a body. Nothing follows it: a server of TLS waits for the client.
func answerOf(c net.Conn, codec takt.Codec) (status int, err error) {
	var in []byte
	var r takt.Result
	buffer := make([]byte, 4<<10)
	for {
		n, failure := c.Read(buffer)
		if failure != nil && failure != io.EOF {
			return 0, failure
		}
		in = append(in, buffer[:n]...)
		used, progress := codec.Parse(in, failure == io.EOF, &r)
		in = in[used:]
		switch {
		case progress != takt.More:
			return r.Status, r.Err
		case failure == io.EOF:
			return 0, io.ErrUnexpectedEOF
		}
	}
}

// connected is http.Transport.OnProxyConnectResponse.
func (p *Proxy) connected(_ context.Context, _ *url.URL, asked *http.Request, answer *http.Response) error {
	if answer.StatusCode/100 != 2 {
		return &proxyError{asked.Host, answer.StatusCode, p.onLogin()}
	}
	return nil
}

// onLogin is what to do about a proxy that wants a login.
func (p *Proxy) onLogin() string {
	if p.url.User == nil {
		return "give --proxy http://USER:PASSWORD@HOST:PORT"
	}
	return "it does not accept the user and password of --proxy: correct them, with / ? # % @ in them written as %2F %3F %23 %25 %40"
}

// login is the header line with the proxy's credentials; "": none.
func (p *Proxy) login() string {
	if p.url.User == nil {
		return ""
	}
	return "Proxy-Authorization: " + httpreq.BasicAuth(p.url.User) + "\r\n"
}

// unreached says of an error of connecting that it is about the proxy.
func (p *Proxy) unreached(err error) error {
	var op *net.OpError
	refused := (*reach.Refused)(nil)
	if p.url != nil && errors.As(err, &op) && op.Op == "dial" && !errors.As(err, &refused) {
		return fmt.Errorf("the proxy %s: %w; check --proxy", p.host(), err)
	}
	return err
}

// proxied makes the requests for a proxy: with the whole URL, and the proxy's credentials.
type proxied struct {
	http1.Requests
	origin, login []byte
}

// throughProxy is list as the next server wants it. A tunnel leads to the target itself.
func (o *Options) throughProxy(list http1.Requests) http1.Requests {
	u, _ := o.home() // without a URL nothing is opened
	return o.throughProxyTo(u, list)
}

// throughProxyTo is throughProxy for requests to the server of u.
func (o *Options) throughProxyTo(u *url.URL, list http1.Requests) http1.Requests {
	if o.Proxy.url == nil || u == nil || u.Scheme == "https" {
		return list
	}
	return &proxied{list, []byte("http://" + u.Host), []byte(o.Proxy.login())}
}

// Append implements http1.Requests. It allocates nothing where dst has room. Each request is the last of its
// connection: a proxy may pass on a server's answer and close without a word, as tinyproxy does, which
// failed 15 of 40 requests.
func (p *proxied) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	at := len(dst)
	dst, head, _ = p.Requests.Append(dst, op)
	at += bytes.IndexByte(dst[at:], ' ') + 1
	if dst[at] == '*' { // RFC 9112, 3.2.4
		dst = slices.Delete(dst, at, at+1)
	}
	dst = slices.Insert(dst, at, p.origin...)
	at += bytes.IndexByte(dst[at:], '\n') + 1
	return slices.Insert(dst, at, p.login...), head, true
}
