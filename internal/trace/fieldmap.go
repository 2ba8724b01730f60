package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The fields of a record in a field map.
const (
	fieldTime = iota
	fieldMethod
	fieldURI
	fieldQuery
	fieldStatus
	fieldBytes
	fieldRequestBytes
	fieldLatency
	fieldHost
	fieldScheme
	fieldClient
	fieldReferer
	fieldAgent
	fields
)

// jsonField is a FIELD of a field map.
type jsonField struct {
	name  string
	field int
	set   setter
}

func jsonFields() []jsonField {
	return []jsonField{
		{"start", fieldTime, setStart},
		{"end", fieldTime, setEnd},
		{"method", fieldMethod, setMethod},
		{"uri", fieldURI, setURI},
		{"request", fieldURI, setRequest},
		{"query", fieldQuery, setQuery},
		{"status", fieldStatus, setStatus},
		{"bytes", fieldBytes, setSize(answerBytes, false)},
		{"request_bytes", fieldRequestBytes, setSize(requestBytes, false)},
		{"latency", fieldLatency, setOwnLatency(time.Second)},
		{"host", fieldHost, setHost},
		{"scheme", fieldScheme, setScheme},
		{"client", fieldClient, setClient},
		{"referer", fieldReferer, setReferer},
		{"agent", fieldAgent, setAgent},
	}
}

// Field maps of servers with documented logs. Caddy's ts is the end of a request
// (caddyserver.com/docs/logging); Traefik's StartUTC (doc.traefik.io, access logs) and the
// times of Envoy and Google Cloud are its start. commonFields are names in common use, with
// those of nginx's variables.
const (
	caddyFields   = "end=ts,latency=duration,method=request.method,uri=request.uri,host=request.host,client=request.client_ip|request.remote_ip,status=status,bytes=size,request_bytes=bytes_read,referer=request.headers.Referer,agent=request.headers.User-Agent"
	traefikFields = "start=StartUTC|StartLocal,latency=Duration:ns,method=RequestMethod,uri=RequestPath,host=RequestHost,scheme=RequestScheme,client=ClientHost,status=DownstreamStatus,bytes=DownstreamContentSize,request_bytes=RequestContentSize,referer=request_Referer,agent=request_User-Agent"
	envoyFields   = "start=start_time,latency=duration:ms,method=method,uri=x_envoy_original_path|path,host=authority,status=response_code,bytes=bytes_sent,request_bytes=bytes_received,client=downstream_remote_address,agent=user_agent"
	gcpFields     = "start=timestamp,latency=httpRequest.latency,method=httpRequest.requestMethod,uri=httpRequest.requestUrl,client=httpRequest.remoteIp,status=httpRequest.status,bytes=httpRequest.responseSize,request_bytes=httpRequest.requestSize,referer=httpRequest.referer,agent=httpRequest.userAgent"
	commonFields  = "end=msec|time_iso8601|time_local|@timestamp|timestamp|time|ts|date,latency=request_time,method=request_method|method|verb|http.request.method,request=request,uri=request_uri|uri|url|path|url.original|url.path,query=query_string|args|query|url.query,status=status|status_code|code|response|http.response.status_code,bytes=body_bytes_sent|bytes_sent|bytes|size|response_size,request_bytes=request_length|request_size|bytes_read,host=http_host|host|server_name|vhost|url.domain,scheme=scheme|url.scheme,client=remote_addr|client_ip|clientip|remote_ip|ip|client|client.ip,referer=http_referer|referer|referrer,agent=http_user_agent|user_agent|agent"
)

// node is a place in an object: what to do with the value there, and with the values below.
type node struct {
	set   setter
	field int
	rank  byte // among the places of the field: the least wins, the first in the map has 1
	below map[string]*node
}

// fieldMap reads objects, one a line.
type fieldMap struct {
	root   node
	timed  bool
	strict bool // an object is a request only if it has a method or a status, too
}

// newFieldMap compiles FIELD=PATH[|PATH…][:UNIT],… with points between the names of a path.
// The error lists all faults.
func newFieldMap(text string) (*fieldMap, error) {
	m := &fieldMap{}
	var errs []error
	uri := false
	for part := range strings.SplitSeq(text, ",") {
		name, paths, _ := strings.Cut(strings.TrimSpace(part), "=")
		f, err := findField(name, &paths)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uri = uri || f.field == fieldURI
		m.timed = m.timed || f.field == fieldTime
		for i, path := range strings.Split(paths, "|") {
			n := m.root.at(path)
			n.set, n.field, n.rank = f.set, f.field, byte(min(i+1, 255))
			if f.name == "request" {
				n.rank = 255 // a field with only the URI is better
			}
		}
	}
	if !uri && errs == nil {
		errs = append(errs, errors.New("the field map has neither uri nor request; say where the request is, such as uri=path"))
	}
	return m, errors.Join(errs...)
}

// findField finds a field by name, and cuts the unit of a latency off its paths.
func findField(name string, paths *string) (jsonField, error) {
	var names []string
	for _, f := range jsonFields() {
		if f.name == name && *paths != "" {
			return withUnit(f, paths)
		}
		names = append(names, f.name)
	}
	return jsonField{}, fmt.Errorf("%.60q is not part of a field map; write FIELD=PATH, separated by commas, with a FIELD of %s", name, strings.Join(names, ", "))
}

func withUnit(f jsonField, paths *string) (jsonField, error) {
	list, unit, ok := strings.Cut(*paths, ":")
	if !ok || f.field != fieldLatency {
		return f, nil
	}
	d, known := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}[unit]
	if !known {
		return f, fmt.Errorf("latency has the unknown unit %.20q; use s, ms, us or ns", unit)
	}
	*paths, f.set = list, setOwnLatency(d)
	return f, nil
}

// at finds or creates the node of a path.
func (n *node) at(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		next := n.below[name]
		if next == nil {
			next = &node{}
			if n.below == nil {
				n.below = map[string]*node{}
			}
			n.below[name] = next
		}
		n = next
	}
	return n
}

// find returns the node of a key, which may itself be a path ("url.path"), or nil.
func (n *node) find(key []byte) *node {
	if n == nil || n.below == nil {
		return nil
	}
	if next := n.below[string(key)]; next != nil {
		return next
	}
	head, rest, ok := bytes.Cut(key, []byte("."))
	if !ok {
		return nil
	}
	return n.below[string(head)].find(rest)
}
