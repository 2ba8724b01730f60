package httpreq

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the servers that a scenario may load: that of the url argument, and those of the request lines in the file.
// Nothing that a server answers adds one.
type Hosts []*url.URL

// Index is the place of the server of u; -1: the scenario does not name it.
func (h Hosts) Index(u *url.URL) int {
	return slices.IndexFunc(h, func(one *url.URL) bool { return SameOrigin(one, u) })
}

// Names are the servers, as origins.
func (h Hosts) Names() (list []string) {
	for _, u := range h {
		list = append(list, u.Scheme+"://"+u.Host)
	}
	return list
}

// Add names the server of a whole URL; "" is none. base and alias are as in Locate.
func (h *Hosts) Add(base *url.URL, alias, whole string) error {
	if whole == "" {
		return nil
	}
	at, _ := SplitTarget(whole)
	u, err := ParseWhole(at)
	if err == nil && !isOn(u, base, alias) && h.Index(u) < 0 {
		*h = append(*h, u)
	}
	return err
}

// isOn reports whether u is on the server of base, or of alias, which is another name of it.
func isOn(u, base *url.URL, alias string) bool {
	return base != nil && (SameOrigin(u, base) || SameOrigin(u, &url.URL{Scheme: base.Scheme, Host: alias}))
}

// Locate is the URL s of a request, which may be relative to base, the server of it, and what the request asks this
// server for. alias is another name of the server of base, as in a Host header.
func (h Hosts) Locate(base *url.URL, alias, s string) (u, server *url.URL, target string, err error) {
	w := Whole(base, s)
	if w == "" {
		return base, base, s, nil
	}
	at, target := SplitTarget(w)
	if u, err = ParseWhole(at); err != nil {
		return nil, nil, "", err
	}
	target, _, _ = strings.Cut(cmp.Or(target, "/"), "#")
	if isOn(u, base, alias) {
		return u, base, target, nil
	}
	if i := h.Index(u); i >= 0 {
		return u, h[i], target, nil
	}
	return nil, nil, "", fmt.Errorf("the url is on %s://%s, and the steps of the scenario are on %s; takt loads no host that only an answer names", u.Scheme, u.Host, strings.Join(h.Names(), ", "))
}
