// Package formats is the table of the kinds of logs. A kind is a row of the table and a file.
package formats

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// Format is a row of the table of formats.
type Format struct {
	Name    string
	About   string
	Line    func(h Hints) (Parser, error)                // for formats with one request per line
	Stream  func(in *bufio.Reader, f parse.Line) Decoder // for other formats
	Looks   func(first []byte) bool                      // reports whether the first line can be of this format
	Last    bool                                         // auto uses it only if no other format fits, and without bad lines: nearly every line is one
	Wider   bool                                         // it fits the lines of formats before it in the table, too
	Status  bool                                         // auto counts only lines with a status
	Untimed bool                                         // a line with a time that is not understood is still a line of this format
	Headed  bool                                         // syslog or a container runtime may have put a head before each line
}

// Hints is what is known of a log beside its lines.
type Hints struct {
	Fields  string // the field map that the user gave; "": none
	Guessed bool   // the format was detected, not given: a line needs more signs of it
	Columns []byte // for w3c: the line #Fields before the part that is read
}

// Parser parses one line, which is not blank. It returns a
// parse.NoRequest, parse.ErrComment, or what is wrong with the line.
type Parser interface {
	Parse(line []byte, f *parse.Line) error
}

// Decoder parses a whole log. Next fills rec, which the caller has reset. It returns nil,
// io.EOF, a parse.NoRequest, a ReadError, or what is wrong with the line at Place. Only io.EOF
// and a ReadError end the log.
type Decoder interface {
	Next(rec *trace.Record) error
	Place() (line int, text []byte)
}

// ReadError is an error of reading, not of a line: it ends the log.
type ReadError struct{ Err error }

// Error is the error of the reader.
func (e ReadError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the reader.
func (e ReadError) Unwrap() error { return e.Err }

// IsReadError reports whether err is or wraps a ReadError.
func IsReadError(err error) bool {
	var broken ReadError
	return errors.As(err, &broken)
}

// Nothing is the name of the format of a log without a line.
const Nothing = "an empty file"

// Table lists the formats. auto chooses, among those that look right, the format with the
// most good lines at the beginning; among equals, the first.
func Table() []Format {
	return []Format{
		{Name: "vhost", About: "Apache's vhost_combined: combined after host:port or host", Line: shape(vhostPieces, vhostShape, setTail), Looks: isText, Headed: true},
		{Name: "ingress", About: "the nginx ingress controller of Kubernetes", Line: shape(nginxPieces, ingressShape, nil), Looks: isText, Headed: true},
		{Name: "combined", About: "nginx and Apache combined, with or without the time taken as the last word", Line: shape(apachePieces, combinedShape, setTail), Looks: isText, Headed: true},
		{Name: "vhost-common", About: "the Common Log Format after host:port or host", Line: shape(vhostPieces, vhostCommonShape, setPlainTail), Looks: isText, Headed: true},
		{Name: "common", About: "the Common Log Format, with or without the time taken as the last word", Line: shape(apachePieces, commonShape, setPlainTail), Looks: isText, Headed: true},
		{Name: "forwarded", About: "combined or common with a list of addresses, as %{X-Forwarded-For}i writes it", Line: forwarded, Looks: isText, Headed: true, Wider: true},
		{Name: "haproxy", About: "HAProxy's option httplog, or httpslog", Line: shape(haproxyPieces, haproxyShape, setHTTPS), Looks: isText, Headed: true},
		{Name: "envoy", About: "Envoy's default", Line: shape(envoyPieces, envoyShape, nil), Looks: isText, Headed: true},
		{Name: "istio", About: "Istio's default", Line: shape(envoyPieces, istioShape, nil), Looks: isText, Headed: true},
		{Name: "alb", About: "AWS Application Load Balancer", Line: shape(albPieces, albShape, nil), Looks: isText},
		{Name: "elb", About: "AWS Classic Load Balancer", Line: shape(albPieces, elbShape, setELBTail), Looks: isText},
		{Name: "s3", About: "server access log of Amazon S3", Line: shape(s3Pieces, s3Shape, setS3Host), Looks: isText},
		{Name: "squid", About: "Squid's native log", Line: squid, Looks: isText, Headed: true},
		{Name: "uwsgi", About: "uWSGI's log of requests", Line: shape(uwsgiPieces, uwsgiShape, nil), Looks: isText, Headed: true},
		{Name: "ltsv", About: "Labeled Tab-separated Values, with the labels of ltsv.org", Line: pairs(ltsvFields, ltsv), Looks: isText, Headed: true},
		{Name: "logfmt", About: "key=value, by common names", Line: pairs(commonFields, logfmt), Looks: isText, Headed: true, Status: true},
		{Name: "w3c", About: "W3C extended: IIS, CloudFront; also Zeek's http.log", Line: w3c, Looks: isText},
		{Name: "load", About: "the load format of Play-it-Again-Sam, in and out", Line: load, Looks: isText, Untimed: true}, // after all that have blanks, too
		{Name: "cloudfront", About: "JSON of CloudFront's standard logs, version 2", Line: objects(cloudfrontFields), Looks: isObject, Status: true},
		{Name: "caddy", About: "Caddy's JSON", Line: objects(caddyFields), Looks: isObject, Status: true, Headed: true},
		{Name: "traefik", About: "Traefik's JSON", Line: objects(traefikFields), Looks: isObject, Status: true, Headed: true},
		{Name: "envoy-json", About: "Envoy's and Istio's JSON", Line: objects(envoyFields), Looks: isObject, Status: true, Headed: true},
		{Name: "gcp", About: "JSON of Google Cloud's load balancers", Line: objects(gcpFields), Looks: isObject, Status: true},
		{Name: "cloudflare", About: "JSON of Cloudflare's Logpush", Line: objects(cloudflareFields), Looks: isObject, Status: true},
		{Name: "azure", About: "JSON of Azure's Front Door, Application Gateway and App Service", Line: objects(azureFields), Looks: isObject, Status: true},
		{Name: "akamai", About: "JSON of Akamai's DataStream 2", Line: objects(akamaiFields), Looks: isObject, Status: true},
		{Name: "aws-waf", About: "JSON of AWS WAF", Line: objects(wafFields), Looks: isObject},
		{Name: "pino", About: "JSON of pino-http, for node", Line: objects(pinoFields), Looks: isObject, Status: true, Headed: true},
		{Name: "json", About: "other JSON, one object a line, by a field map or common names", Line: objects(commonFields), Looks: isObject, Headed: true},
		{Name: "har", About: "HTTP Archive of a browser or proxy", Stream: har, Looks: isHAR},
		{Name: "jtl-xml", About: "JMeter's results in XML", Stream: jtlXML, Looks: isXML},
		{Name: "jtl-csv", About: "JMeter's results in CSV", Stream: jtlCSV, Looks: isJTL},
		{Name: "k6-csv", About: "k6's results in CSV (k6 run --out csv=FILE)", Stream: k6CSV, Looks: isK6},
		{Name: "gor", About: "GoReplay's files, with headers and bodies", Stream: gor, Looks: isGor},
		{Name: "paths", About: "a list of paths or URLs, each with or without a method before it", Line: paths, Looks: isText, Last: true},
	}
}

func load(h Hints) (Parser, error) { return &parse.LoadFile{Guessed: h.Guessed}, nil }

func isText(first []byte) bool   { return first[0] != '{' && first[0] != '<' }
func isObject(first []byte) bool { return first[0] == '{' }

// Find returns the format of a name, or of a format string of a server.
func Find(name string) (Format, error) {
	var names []string
	for _, f := range Table() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if name == Nothing {
		return Format{Line: func(Hints) (Parser, error) { return pathParser{strict: true}, nil }}, nil
	}
	cut := cutterOf(name)
	if cut == nil {
		return Format{}, fmt.Errorf("the format %.60q is not known; use one of auto, %s, or give a log_format of nginx, a LogFormat of Apache, a log-format of HAProxy, a format string of Envoy, or your own as in '{start} {method} {uri} {status} {latency:ms}'", name, strings.Join(names, ", "))
	}
	p, err := compile(cut, name, nil)
	if err != nil {
		return Format{}, fmt.Errorf("format %.200q: %w", name, err)
	}
	return Format{Line: func(Hints) (Parser, error) { return p, nil }, Headed: isHAProxy(name) || isOwn(name)}, nil
}

// cutter cuts a format string of one kind of server into pieces.
type cutter func(text string) ([]parse.Piece, error)

// cutterOf tells by its signs whose format string it is; nil: it is none.
func cutterOf(text string) cutter {
	switch {
	case isOwn(text):
		return ownPieces
	case isEnvoy(text):
		return envoyPieces
	case isHAProxy(text):
		return haproxyPieces
	case strings.Contains(text, "$"):
		return nginxPieces
	case strings.Contains(text, "%"):
		return apachePieces
	}
	return nil
}

// shape returns the format of a format string; tail, if not nil, gets what follows it in a
// line.
func shape(cut cutter, text string, tail parse.Setter) func(Hints) (Parser, error) {
	return func(Hints) (Parser, error) { return compile(cut, text, tail) }
}

func compile(cut cutter, text string, tail parse.Setter) (*parse.Pattern, error) {
	pieces, err := cut(strings.TrimLeft(text, " ")) // lines lose leading blanks, too
	if err != nil {
		return nil, err
	}
	return parse.NewPattern(pieces, tail)
}
