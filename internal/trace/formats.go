package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
)

const auto = "auto"

// format is a row of the table of formats.
type format struct {
	name   string
	about  string
	line   func(o Options) (parser, error)           // for formats with one request per line
	stream func(in *bufio.Reader, o Options) decoder // for other formats
	looks  func(first []byte) bool                   // reports whether the first line can be of this format
	last   bool                                      // auto uses it only if no other format fits, and without bad lines: nearly every line is one
	status bool                                      // auto counts only lines with a status
	headed bool                                      // syslog or a container runtime may have put a head before each line
}

// The built-in shapes of access logs, as Apache writes them.
const (
	combinedShape    = `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`
	commonShape      = `%h %l %u %t "%r" %>s %b`
	vhostShape       = `%v %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`
	vhostCommonShape = `%v %h %l %u %t "%r" %>s %b`
)

// nothing is the format of a log without a line.
const nothing = "an empty file"

// table lists the formats. auto chooses, among those that look right, the format with the
// most good lines at the beginning; among equals, the first.
func table() []format {
	return []format{
		{name: "vhost", about: "Apache's vhost_combined: combined after host:port or host", line: vhost(vhostShape, setTail), looks: isText, headed: true},
		{name: "combined", about: "nginx and Apache combined, with or without the time taken as the last word", line: shape(combinedShape, setTail), looks: isText, headed: true},
		{name: "vhost-common", about: "the Common Log Format after host:port or host", line: vhost(vhostCommonShape, setPlainTail), looks: isText, headed: true},
		{name: "common", about: "the Common Log Format, with or without the time taken as the last word", line: shape(commonShape, setPlainTail), looks: isText, headed: true},
		{name: "load", about: "the load format of Play-it-Again-Sam, in and out", line: func(Options) (parser, error) { return &loadParser{}, nil }, looks: isText},
		{name: "haproxy", about: "HAProxy's option httplog", line: haproxy(haproxyShape), looks: isText, headed: true},
		{name: "envoy", about: "Envoy's default", line: envoy(envoyShape), looks: isText, headed: true},
		{name: "istio", about: "Istio's default", line: envoy(istioShape), looks: isText, headed: true},
		{name: "alb", about: "AWS Application Load Balancer", line: func(Options) (parser, error) { return newALB() }, looks: isText},
		{name: "w3c", about: "W3C extended: IIS, CloudFront", line: func(o Options) (parser, error) { return newW3C(o.columns), nil }, looks: isText},
		{name: "caddy", about: "Caddy's JSON", line: fieldMapOf(caddyFields), looks: isObject, status: true, headed: true},
		{name: "traefik", about: "Traefik's JSON", line: fieldMapOf(traefikFields), looks: isObject, status: true, headed: true},
		{name: "envoy-json", about: "Envoy's and Istio's JSON", line: fieldMapOf(envoyFields), looks: isObject, status: true, headed: true},
		{name: "gcp", about: "JSON of Google Cloud's load balancers", line: fieldMapOf(gcpFields), looks: isObject, status: true},
		{name: "json", about: "other JSON, one object a line, by a field map or common names", line: fieldMapOf(commonFields), looks: isObject, headed: true},
		{name: "har", about: "HTTP Archive of a browser or proxy", stream: func(in *bufio.Reader, o Options) decoder { return newHARDecoder(in, o) }, looks: isHAR},
		{name: "jtl-xml", about: "JMeter's results in XML", stream: func(in *bufio.Reader, o Options) decoder { return newXMLDecoder(in, o.Zone) }, looks: isXML},
		{name: "jtl-csv", about: "JMeter's results in CSV", stream: func(in *bufio.Reader, o Options) decoder { return newCSVDecoder(in, o.Zone) }, looks: isJTL},
		{name: "paths", about: "a list of paths or URLs, each with or without a method before it", line: func(o Options) (parser, error) { return pathParser{strict: o.guessed}, nil }, looks: isText, last: true},
	}
}

// Formats lists the names of the formats with a line about each, auto first.
func Formats() [][2]string {
	list := [][2]string{{auto, "by the first lines"}}
	for _, f := range table() {
		list = append(list, [2]string{f.name, f.about})
	}
	return list
}

// shape returns the format of an Apache string with a tail.
func shape(text string, tail setter) func(Options) (parser, error) {
	return func(Options) (parser, error) {
		p, err := compileApache(text)
		if err != nil {
			return nil, err
		}
		return p.withTail(tail), nil
	}
}

// vhost is shape for a string that begins with the host, with or without a port, and the
// client.
func vhost(text string, tail setter) func(Options) (parser, error) {
	return func(Options) (parser, error) {
		p, err := compileApache(text)
		if err != nil {
			return nil, err
		}
		p.values[0].set, p.values[1].set = setVhost, setVhostClient
		return p.withTail(tail), nil
	}
}

// fieldMapOf returns the format of a field map: the user's, or else the given one.
func fieldMapOf(text string) func(Options) (parser, error) {
	return func(o Options) (parser, error) {
		m, err := newFieldMap(cmp.Or(o.Fields, text))
		if err == nil {
			m.strict = o.guessed
		}
		if o.Fields == "" && text == commonFields {
			m.root.at("request_time").set = setCommonLatency
		}
		return m, err
	}
}

// open returns the decoder of a format other than auto.
func open(in *bufio.Reader, o Options) (decoder, error) {
	for _, f := range table() {
		if f.name != o.Format {
			continue
		}
		if o.Fields != "" && f.name != "json" {
			return nil, fmt.Errorf("a field map is given for the format %s; only the format json uses one", f.name)
		}
		if f.stream != nil {
			return f.stream(in, o), nil
		}
		p, err := f.line(o)
		if err != nil {
			return nil, err
		}
		d := newLineDecoder(in, p, o)
		d.headed = f.headed
		return d, nil
	}
	if o.Format == nothing {
		return newLineDecoder(in, pathParser{strict: true}, o), nil
	}
	p, err := compile(o.Format)
	if err != nil {
		return nil, err
	}
	d := newLineDecoder(in, p, o)
	d.headed = isHAProxy(o.Format)
	return d, nil
}

func newLineDecoder(in *bufio.Reader, p parser, o Options) *lineDecoder {
	return &lineDecoder{lines: lines{in: in}, parser: p, filler: newFiller(o)}
}

// compile compiles a format string.
func compile(text string) (p *pattern, err error) {
	switch {
	case isEnvoy(text):
		p, err = compileEnvoy(text)
	case isHAProxy(text):
		p, err = compileHAProxy(text)
	case strings.Contains(text, "$"):
		p, err = compileNginx(text)
	case strings.Contains(text, "%"):
		p, err = compileApache(text)
	default:
		var names []string
		for _, f := range Formats() {
			names = append(names, f[0])
		}
		return nil, fmt.Errorf("the format %.60q is not known; use one of %s, or give a log_format of nginx, a LogFormat of Apache, a log-format of HAProxy or a format string of Envoy", text, strings.Join(names, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("format %.200q: %w", text, err)
	}
	return p, nil
}

// CheckFormat reports what is wrong with the format and the field map of o, before
// any file is opened.
func CheckFormat(o Options) error {
	if o.Format == "" || o.Format == auto {
		if o.Fields != "" {
			return errors.New("a field map is given without its format; give the format json too")
		}
		return nil
	}
	_, err := open(bufio.NewReader(bytes.NewReader(nil)), o)
	return err
}
