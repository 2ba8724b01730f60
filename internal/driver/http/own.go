package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

var errNoURL = errors.New("no url is given; the last argument names the target, such as http://127.0.0.1:8080/")

// home is the one address that takt's own client connects to.
func (o *Options) home() (*url.URL, error) {
	if o.list == nil {
		return o.url, nil
	}
	if u := o.list.base(); u != nil {
		return u, nil
	}
	return nil, errNoURL
}

func (o *Options) openOwn() (*takt.Driver, error) {
	u, err := o.home()
	if err != nil {
		return nil, err
	}
	l := o.LoopTo(u, func(int) takt.Codec { return o.codec() })
	if o.HTTP2 {
		o.multiplex(l, u)
	}
	return &takt.Driver{Loop: l, Timed: o.Timed(), Finish: o.finish, Close: o.close}, nil
}

func (o *Options) close() error {
	o.list.close()
	return o.TLS.Close()
}

// FinishTo is Driver.Finish of all that has its connections by LoopTo or UsersTo.
func (o *Options) FinishTo(ctx context.Context, r *takt.Report) error {
	o.TLS.Report(r)
	o.reportH2(r)
	if n := engine.ObservedOf(ctx).Repeated(); n > 0 {
		r.Extra["repeated"] = n
	}
	if n := engine.ObservedOf(ctx).EarlyAnswers() + o.muxes.early(); n > 0 {
		r.Warn(warn.EarlyAnswers, "%d answers came before the body of their request was sent, and the rest of it was not sent; so bytes are fewer than the bodies", takt.Number("answers", n))
	}
	o.reportStale(r)
	ReportParts(r)
	if n := r.Status[strconv.Itoa(http.StatusProxyAuthRequired)]; n > 0 && o.Proxy.url != nil {
		r.Warn(warn.ProxyLogin, "%d answers were the proxy's own, status 407: it wants a login; %s", takt.Number("answers", n), takt.Advice(o.Proxy.onLogin()))
	}
	return nil
}

// staleMost is the share of operations that may meet the end of a kept connection without a warning.
const staleMost = 0.001

// reportStale warns of a server that closes connections after answers that did not say so.
func (o *Options) reportStale(r *takt.Report) {
	n := o.stale.Swap(0)
	if float64(n) <= staleMost*float64(r.Counts.Sent) {
		return
	}
	r.Warn(warn.StaleConnections, "%d requests met the end of their connection (class closed): the server closed it after an answer without \"Connection: close\", or while it was idle; %s",
		takt.Number("requests", n), takt.Advice("if the server closes after each answer, let each request have a connection of its own: -H 'Connection: close'"))
}

// finish warns of redirects that were not followed, and of a slip of those who come
// from wrk, where -d is the duration.
func (o *Options) finish(ctx context.Context, r *takt.Report) error {
	if err := o.FinishTo(ctx, r); err != nil {
		return err
	}
	if o.odd > 0 {
		r.Warn(warn.FeederInURL, "%d lines of %s have &, + or ?, and were in the URL as they are: a server takes these characters for separators, and + for a space; %s",
			takt.Number("lines", o.odd), o.oddIn, takt.Advice("if they belong to the value, write {{url file …}}"))
	}
	if f, ok := o.requests.(*httpreq.Fixed); ok && f.Sends.Method == "GET" && len(f.Sends.Body) > 0 {
		r.Warn(warn.GetBody, "each GET had a body of %d bytes; %s", takt.Size("body", len(f.Sends.Body)), takt.Advice("-d is the body (-z the duration), and -m the method"))
	}
	var n uint64
	for code, count := range r.Status {
		if strings.HasPrefix(code, "3") && code != "304" {
			n += count
		}
	}
	if s, ok := o.requests.(*scenario); ok {
		n -= min(n, s.followed)
	}
	if n > 0 && o.Recording == nil { // what was recorded is not followed either
		r.Warn(warn.Redirects, "%d answers were redirects that were not followed; %s", takt.Number("redirects", n), takt.Advice(o.onRedirects()))
	}
	return nil
}

// onRedirects is what to do about redirects, with the flags that are given.
func (o *Options) onRedirects() string {
	const count = "count them as failed with --fail-on 3xx,4xx,5xx"
	switch {
	case o.Scenario != "":
		return "write @follow into their steps, write their targets as steps, with @capture NAME header Location, or " + count
	case o.DisableRedirects, o.Client == clientOwn:
		return "give the final URL, or " + count
	}
	return fmt.Sprintf("give the final URL, follow with --redirects %d, or %s", o.Redirects+1, count)
}
