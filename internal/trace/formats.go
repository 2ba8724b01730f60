package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

const auto = "auto"

// format is a row of the table of formats.
type format struct {
	name     string
	about    string
	line     func(o Options) (parser, error)                     // one request a line
	stream   func(in *bufio.Reader, zone *time.Location) decoder // else
	looks    func(first []byte) bool                             // the beginning can be of this format; nil: never by itself
	anything bool                                                // nearly every line is one of this format
}

// The shapes of the access logs that need no description.
const (
	combinedShape = `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`
	commonShape   = `%h %l %u %t "%r" %>s %b`
	vhostShape    = `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`
)

// table lists the formats. auto takes of those that look right the one with most
// good lines at the beginning, the first of equals.
func table() []format {
	return []format{
		{"vhost", "Apache's vhost_combined: combined after host:port", shape(vhostShape, setTail), nil, isText, false},
		{"combined", "nginx and Apache combined, with or without the time taken as last word", shape(combinedShape, setTail), nil, isText, false},
		{"common", "the Common Log Format, with or without the time taken as last word", shape(commonShape, setPlainTail), nil, isText, false},
		{"load", "the load format of Play-it-Again-Sam, in and out", func(Options) (parser, error) { return &loadParser{}, nil }, nil, isText, false},
		{"caddy", "Caddy's JSON", fieldMapOf(caddyFields), nil, isObject, false},
		{"traefik", "Traefik's JSON", fieldMapOf(traefikFields), nil, isObject, false},
		{"json", "other JSON, one object a line, by a field map or common names", fieldMapOf(commonFields), nil, isObject, false},
		{"har", "HTTP Archive of a browser or proxy", nil, func(in *bufio.Reader, zone *time.Location) decoder { return newHARDecoder(in, zone) }, isHAR, false},
		{"jtl-xml", "JMeter's results in XML", nil, func(in *bufio.Reader, zone *time.Location) decoder { return newXMLDecoder(in, zone) }, isXML, false},
		{"jtl-csv", "JMeter's results in CSV", nil, func(in *bufio.Reader, zone *time.Location) decoder { return newCSVDecoder(in, zone) }, isJTL, false},
		{"paths", "a list of paths or URLs, each with or without a method before it", func(Options) (parser, error) { return pathParser{}, nil }, nil, isPath, true},
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

// shape makes the format of an Apache string with a tail.
func shape(text string, tail setter) func(Options) (parser, error) {
	return func(Options) (parser, error) {
		p, err := compileApache(text)
		if err != nil {
			return nil, err
		}
		return p.withTail(tail), nil
	}
}

// fieldMapOf makes a format of a field map; one that the user gives comes first.
func fieldMapOf(text string) func(Options) (parser, error) {
	return func(o Options) (parser, error) {
		return newFieldMap(cmp.Or(o.Fields, text))
	}
}

// open begins to read in a format other than auto.
func open(in *bufio.Reader, o Options) (decoder, error) {
	for _, f := range table() {
		if f.name != o.Format {
			continue
		}
		if o.Fields != "" && f.name != "json" {
			return nil, fmt.Errorf("a field map is given for the format %s; it belongs to the format json", f.name)
		}
		if f.stream != nil {
			return f.stream(in, o.Zone), nil
		}
		p, err := f.line(o)
		if err != nil {
			return nil, err
		}
		return newLineDecoder(in, p, o), nil
	}
	p, err := compile(o.Format)
	if err != nil {
		return nil, err
	}
	return newLineDecoder(in, p, o), nil
}

func newLineDecoder(in *bufio.Reader, p parser, o Options) *lineDecoder {
	return &lineDecoder{lines: lines{in: in}, parser: p, filler: filler{clock: clock{zone: o.Zone}}}
}

// compile understands a format string.
func compile(text string) (p *pattern, err error) {
	switch {
	case strings.Contains(text, "$"):
		p, err = compileNginx(text)
	case strings.Contains(text, "%"):
		p, err = compileApache(text)
	default:
		var names []string
		for _, f := range Formats() {
			names = append(names, f[0])
		}
		return nil, fmt.Errorf("the format %.60q is not known; use one of %s, or give a log_format of nginx or a LogFormat of Apache", text, strings.Join(names, ", "))
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
