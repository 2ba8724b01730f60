package service

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
)

// Ready is when a server is ready: a URL answers, a TCP port is open, or its output has a line.
type Ready struct {
	url    string         // "": not a URL
	status int            // the status that counts; 0: any from 200 to 399
	tcp    string         // HOST:PORT
	line   *regexp.Regexp // matches a line of the output
	text   string
}

// NewReady reads http://…, tcp, tcp:HOST:PORT, or log:REGEXP. "" is tcp: the port of {{.Port}}.
func NewReady(text string, status int) (Ready, error) {
	r := Ready{text: text, status: status}
	kind, rest, more := strings.Cut(text, ":")
	switch {
	case text == "" || text == "tcp":
		r.text, r.tcp = "tcp", "127.0.0.1:"+PortMark
	case kind == "tcp" && more && !strings.HasPrefix(rest, "//"):
		if _, err := value.ParseHostPort(withPort(rest, 1)); err != nil {
			return r, value.Faultf("bad --ready %q: %w", text, err)
		}
		r.tcp = rest
	case kind == "log" && more && rest != "":
		line, err := regexp.Compile(rest)
		if err != nil {
			return r, value.Faultf("bad --ready %q: %v", text, err)
		}
		r.line = line
	default:
		u, err := url.Parse(withPort(text, 1))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return r, value.Faultf("bad --ready %q; give a URL such as http://127.0.0.1:%s/, tcp, tcp:HOST:PORT, or log:REGEXP", text, PortMark)
		}
		r.url = text
	}
	if status != 0 && r.url == "" {
		return r, value.Faultf("--ready-status is the status of a URL, and --ready is %s; leave it out", r.text)
	}
	return r, nil
}

// UsesPort reports whether the port that takt chooses decides.
func (r Ready) UsesPort() bool { return strings.Contains(r.url+r.tcp, PortMark) }

// askTime is the longest time of one question.
const askTime = 2 * time.Second

// at is Ready for this port.
func (r Ready) at(port int) Ready {
	r.url, r.tcp, r.text = withPort(r.url, port), withPort(r.tcp, port), withPort(r.text, port)
	return r
}

// answers asks whether something answers at the URL or the port; nil: it does, as a server that is ready.
func (r Ready) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if r.tcp != "" {
		conn, err := reach.Dial(ctx, "tcp", r.tcp)
		if err == nil {
			conn.Close()
		}
		return err
	}
	status, err := get(ctx, r.url)
	switch {
	case err != nil:
		return err
	case r.status == 0 && status >= 200 && status < 400, status == r.status:
		return nil
	}
	return fmt.Errorf("%s answered with status %d", r.url, status)
}

// get returns the status of the answer.
func get(ctx context.Context, url string) (int, error) {
	answer, err := ask(ctx, url)
	if err != nil {
		return 0, err
	}
	answer.Body.Close()
	return answer.StatusCode, nil
}

// ask gets an answer, whose body the caller closes. It follows no redirect, uses no proxy, and leaves no
// connection to the load.
func ask(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: anyCertificate(), DialContext: reach.Dial},
		CheckRedirect: reach.NoRedirect,
	}
	return client.Do(request)
}
