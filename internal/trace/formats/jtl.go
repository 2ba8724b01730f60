package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// JMeter writes its results, JTL, as XML or as CSV
// (jmeter.apache.org/usermanual/listeners.html). Both name the start and the elapsed
// time in milliseconds. If a sample contains others, for redirects or embedded files, only
// the inner samples are requests.

var (
	errXML = errors.New("the XML is cut short or damaged: nothing behind this line can be read")
)

// outerSample is why a sample around others is left out.
const outerSample parse.NoRequest = "the sample contains others, which are the requests"

// otherSample is why a sample without HTTP is left out.
const otherSample parse.NoRequest = "a sample of another kind than HTTP"

// noURL is why a sample without a URL is left out.
const noURL parse.NoRequest = "the sample has no URL; for those of HTTP, record again with jmeter.save.saveservice.url=true in JMeter's user.properties"

// maxElements limits the nesting of elements.
const maxElements = 100

// jtlSample is an open element of the XML.
type jtlSample struct {
	line        int
	sample      bool // an httpSample, or with other a sample of another kind
	other       bool
	outer       bool // contains other samples
	attr        map[string]string
	url, method string
}

// xmlDecoder reads JTL in XML.
type xmlDecoder struct {
	in      *xml.Decoder
	open    []*jtlSample
	text    string // name of the element whose text comes next
	line    int    // line of the last sample
	columns []jtlColumn
	filler  parse.Line
	ended   bool
}

func jtlXML(in *bufio.Reader, f parse.Line) Decoder {
	return &xmlDecoder{in: xml.NewDecoder(in), columns: jtlColumns(), filler: f}
}

func isXML(first []byte) bool {
	return bytes.HasPrefix(first, []byte("<?xml")) || bytes.HasPrefix(first, []byte("<testResults"))
}

// Place is the line of the last sample.
func (d *xmlDecoder) Place() (int, []byte) { return d.line, nil }

// Next implements Decoder.
func (d *xmlDecoder) Next(rec *trace.Record) error {
	for !d.ended {
		t, err := d.in.Token()
		if err != nil {
			return d.end(xmlFault(err, len(d.open)))
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := d.start(t); err != nil {
				return d.end(err)
			}
		case xml.CharData:
			d.chars(t)
		case xml.EndElement:
			s := d.open[len(d.open)-1] // exists: Token checks that elements match
			d.open, d.text = d.open[:len(d.open)-1], ""
			if !s.sample {
				continue
			}
			d.line = s.line
			switch {
			case s.outer:
				return outerSample
			case s.other:
				return otherSample
			}
			d.filler.Begin(rec)
			return s.fill(&d.filler, d.columns)
		}
	}
	return io.EOF
}

// end makes err, at the present line, the last result before io.EOF.
func (d *xmlDecoder) end(err error) error {
	d.ended = true
	d.line, _ = d.in.InputPos()
	return err
}

func xmlFault(err error, open int) error {
	if err == io.EOF && open == 0 || IsReadError(err) {
		return err
	}
	return errXML
}

func (d *xmlDecoder) start(t xml.StartElement) error {
	if len(d.open) >= maxElements {
		return fmt.Errorf("more than %d elements within each other", maxElements)
	}
	s := &jtlSample{other: t.Name.Local == "sample"}
	s.sample = s.other || t.Name.Local == "httpSample"
	s.line, _ = d.in.InputPos()
	if s.sample {
		for _, o := range d.open {
			o.outer = true
		}
		s.attr = make(map[string]string, len(t.Attr))
		for _, a := range t.Attr {
			s.attr[a.Name.Local] = a.Value
		}
	}
	d.open, d.text = append(d.open, s), t.Name.Local
	return nil
}

// chars stores the text of the elements with the URL and the method.
func (d *xmlDecoder) chars(text xml.CharData) {
	if len(d.open) < 2 {
		return
	}
	s := d.open[len(d.open)-2]
	if !s.sample {
		return
	}
	switch d.text {
	case "java.net.URL":
		s.url += string(text)
	case "method":
		s.method += string(text)
	}
}

func (s *jtlSample) fill(f *parse.Line, columns []jtlColumn) error {
	return fillJTL(f, columns, func(c *jtlColumn) string {
		switch c.name {
		case "URL":
			return cmp.Or(s.url, s.attr["lb"])
		case "method":
			return s.method
		}
		return s.attr[c.attr]
	})
}

// jtlColumn is a column of the CSV, or an attribute or element of the XML.
type jtlColumn struct {
	name, attr string // in CSV and in XML; attr "": an element
	set        parse.Setter
	optional   bool
}

func jtlColumns() []jtlColumn {
	return []jtlColumn{
		{"timeStamp", "ts", parse.Start, false},
		{"elapsed", "t", parse.Latency(time.Millisecond), false},
		{"Latency", "lt", setFirstByte, true},
		{"responseCode", "rc", setCode, true},
		{"bytes", "by", parse.Size(parse.AnswerBytes, false), true},
		{"sentBytes", "sby", parse.Size(parse.RequestBytes, false), true},
		{"method", "", parse.Method, true},
		{"URL", "", (*parse.Line).SetURI, false},
	}
}

// setFirstByte stores the time from the given latency up to the end of the request.
func setFirstByte(f *parse.Line, v []byte) error {
	first, ok := parse.Decimal(v, time.Millisecond)
	if r := f.Rec; ok && first > 0 && r.Latency != trace.Unknown {
		r.Transfer = max(r.Latency-first, 0)
	}
	return nil
}

// setCode stores a status, and ignores "Non HTTP response code: …".
func setCode(f *parse.Line, v []byte) error {
	if n := parse.Digits(v); len(v) == 3 && n >= 0 {
		f.Rec.Status = n
	}
	return nil
}

// fillJTL fills a record; get returns the value of a column, or "".
func fillJTL(f *parse.Line, columns []jtlColumn, get func(c *jtlColumn) string) error {
	for i := range columns {
		c := &columns[i]
		v := get(c)
		if v == "" && c.optional {
			continue
		}
		err := c.set(f, []byte(v))
		if c.name == "URL" && err != nil && !strings.Contains(v, "://") {
			return noURL
		}
		if err != nil {
			return err
		}
	}
	return f.Finish(true)
}
