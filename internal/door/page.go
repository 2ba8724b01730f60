package door

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// FromPage says why a server refuses a request that a web page may have made a browser send, and the status
// of the answer; nil: it does not. The page is of another site, or its name leads to this machine (DNS
// rebinding). A link that a person follows is fine: the page that has it does not see the answer. With
// tokens any name and any proxy is fine: only those who know a token can do something.
func FromPage(r *http.Request, tokens bool) (status int, err error) {
	switch {
	case !ownPage(r):
		return http.StatusForbidden, errors.New("a web page of another origin sent this request; open the address yourself, or use a client that is not a browser")
	case tokens:
		return 0, nil
	}
	if err := misdirected(r); err != nil { // also through a unix socket: a browser may come by ssh -L
		return http.StatusMisdirectedRequest, err
	}
	return 0, nil
}

// ownPage reports whether a request is from a page of this server, of a person who followed a link, or of no
// browser. No page can set these headers.
func ownPage(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Values("Origin")
	link := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	here := len(origin) == 1 && strings.EqualFold(origin[0], scheme+r.Host) || site == "same-origin" // which it also is behind a proxy with TLS
	return (len(origin) == 0 || here) && (link || slices.Contains([]string{"", "same-origin", "none"}, site))
}

// misdirected says why a server without tokens refuses a request although it came from loopback; nil: it
// does not. A page in a browser can come through a name that leads to this machine, and a proxy speaks for
// people whom takt does not know. What a proxy says of them is not believed.
func misdirected(r *http.Request) error {
	if !IsLoopback(HostOf(r.Host)) {
		return fmt.Errorf("the host %q is not a name of this server; use 127.0.0.1 or localhost", r.Host)
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(proxyHeaders(), name) {
			return fmt.Errorf("a proxy sent this request, as its header %s says, and takt does not know for whom; use a token file, or come without the proxy", name)
		}
	}
	if !r.ProtoAtLeast(1, 1) { // nginx up to 1.28 tells nothing else, unless it is told to
		return errors.New("a proxy may have sent this request, since it is HTTP/1.0, and takt does not know for whom; use HTTP/1.1, or a token file")
	}
	return nil
}

// proxyHeaders are the headers besides X-Forwarded-… with which proxies say for whom they speak.
func proxyHeaders() []string {
	return []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Host", "True-Client-Ip", "Cf-Connecting-Ip"}
}
