package apmserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/taktload/takt/internal/permanent"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/pkg/takt"
)

// Limits of requests to a server besides the load.
const (
	askTime   = 2 * time.Second
	askBytes  = 4 << 20 // largest answer; expvar has about 16 kB
	tailLines = 5       // number of log lines shown if the server ends by itself
)

// ready asks the server until it accepts events, and returns its version. r is the server's
// process, nil if unknown.
func ready(ctx context.Context, base string, o *Options, r *Running) (version string, err error) {
	w := service.Wait{Patience: o.patience(), Ask: func(ctx context.Context) error {
		info, err := aboutServer(ctx, base, o.Secret)
		if version = info.Version; err == nil && !info.mayPublish() {
			return errMayNotPublish
		}
		return err
	}}
	if r != nil {
		w.Ended = r.done
	}
	err = w.For(ctx)
	var late *service.Late
	switch {
	case err == nil:
		return version, nil
	case errors.Is(err, service.ErrEnded):
		return "", r.failure(o.Log)
	case errors.As(err, &late):
		return "", unready(base, late.Last, o)
	case permanent.Is(err):
		return "", fmt.Errorf("the server at %s cannot be used: %w", base, err)
	}
	return "", err
}

// errMayNotPublish is a server that answers, and accepts no events yet.
var errMayNotPublish = errors.New("the server may not publish yet")

// failure is the error of a server that ended by itself, with its first fatal line, or else
// its last lines: a crash of Go ends with registers.
func (r *Running) failure(log *process.Log) error {
	if log == nil {
		return r.err()
	}
	var said strings.Builder
	what := "its first fatal line"
	lines, _ := log.Fatal()
	if len(lines) == 0 {
		what, lines = "its last words", log.Tail(tailLines, "")
	}
	process.Print(&said, lines, false)
	return fmt.Errorf("%w; %s:\n%s%s", r.err(), what, strings.TrimSuffix(said.String(), "\n"), remedy(said.String()))
}

// remedy is what to do about the end of a server that explains itself badly; "" if unknown.
// libbeat up to 7 lets the kernel refuse system calls that it does not know; the glibc of
// newer systems makes such calls.
func remedy(said string) string {
	if strings.Contains(said, "pthread_create failed: Operation not permitted") {
		return "\nthe filter of system calls of this apm-server is older than the system; turn it off with: -E seccomp.enabled=false"
	}
	return ""
}

// unready says why the wait ended; err is the last answer.
func unready(base string, err error, o *Options) error {
	said := o.Log.FirstError(false)
	switch {
	case errors.Is(err, errMayNotPublish):
		return fmt.Errorf("the server at %s is up, but after %v not ready to publish; %s", base, o.patience(), blocked(said))
	case said != "":
		return fmt.Errorf("the server at %s does not answer after %v: %w; %s", base, o.patience(), err, blocked(said))
	}
	return fmt.Errorf("the server at %s does not answer after %v: %w; is the URL right?", base, o.patience(), err)
}

// blocked is why a server may not publish and what to do; said is its first error. With data
// streams, versions up to 8.14 wait for the templates that Kibana installs; 8.0 meanwhile answers
// nothing at all.
func blocked(said string) string {
	switch {
	case strings.Contains(said, "integration"):
		return "its first error: " + said + "; or write without its templates: -E apm-server.data_streams.wait_for_integration=false"
	case said != "":
		return "its first error: " + said + "; is its Elasticsearch up?"
	}
	return "is its Elasticsearch up?"
}

// about is apm-server's answer at /; empty if it requires a token that it did not get.
type about struct {
	Version      string `json:"version"`
	PublishReady *bool  `json:"publish_ready"`
	OK           *about `json:"ok"` // version 6 wraps it
}

func (a about) mayPublish() bool { return a.PublishReady == nil || *a.PublishReady }

func aboutServer(ctx context.Context, base string, secret takt.Secret) (about, error) {
	text, err := ask(ctx, base+"/", secret)
	if err != nil {
		return about{}, err
	}
	var a about
	_ = json.Unmarshal(text, &a) // any answer shows that connections are accepted
	if a.OK != nil {
		a = *a.OK
	}
	return a, nil
}

// asker follows no redirects: the server's owner has allowed this machine, and not where it leads.
// Its other settings are those of net/http's own client.
var asker = &http.Client{
	Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: reach.Dial, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	},
	CheckRedirect: reach.NoRedirect,
}

// ask returns the body of the answer to a GET.
func ask(ctx context.Context, url string, secret takt.Secret) ([]byte, error) {
	return askAtMost(ctx, url, secret, askBytes)
}

// askAtMost is ask for so many bytes; the rest is left out.
func askAtMost(ctx context.Context, url string, secret takt.Secret, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Close = true // leave the server's connections to the load
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+string(secret))
	}
	answer, err := asker.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s answers %s", url, answer.Status)
		if permanent.Status(answer.StatusCode) && answer.StatusCode != http.StatusNotFound { // a proxy answers so until its server is up
			err = permanent.Mark(err)
		}
		return nil, err
	}
	return io.ReadAll(io.LimitReader(answer.Body, most))
}
