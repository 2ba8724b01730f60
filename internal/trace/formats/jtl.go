package formats

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/stamp"
)

// JMeter writes its results, JTL, as XML or as CSV
// (jmeter.apache.org/usermanual/listeners.html). Both name the start and the elapsed
// time in milliseconds. If a sample contains others, for redirects or embedded files, only
// the inner samples are requests.

var (
	errXML = errors.New("the XML is cut short or damaged: nothing behind this line can be read")
	errCSV = errors.New("no first line with the names timeStamp, elapsed and responseCode")
)

// maxElements limits the nesting of elements.
const maxElements = 100

// jtlSample is an open element of the XML.
type jtlSample struct {
	line        int
	sample      bool // an httpSample
	outer       bool // contains other samples
	attr        map[string]string
	url, method string
}

// xmlDecoder reads JTL in XML.
type xmlDecoder struct {
	in     *xml.Decoder
	open   []*jtlSample
	text   string // name of the element whose text comes next
	line   int    // line of the last sample
	filler fill.Line
	ended  bool
}

func jtlXML(in *bufio.Reader, f fill.Line) Decoder {
	return &xmlDecoder{in: xml.NewDecoder(in), filler: f}
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
			d.ended = true
			d.line, _ = d.in.InputPos()
			return xmlFault(err, len(d.open))
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := d.start(t); err != nil {
				d.ended = true
				d.line, _ = d.in.InputPos()
				return err
			}
		case xml.CharData:
			d.chars(t)
		case xml.EndElement:
			s := d.open[len(d.open)-1] // exists: Token checks that elements match
			d.open, d.text = d.open[:len(d.open)-1], ""
			if s.sample && !s.outer {
				d.line = s.line
				d.filler.Begin(rec)
				return s.fill(&d.filler)
			}
		}
	}
	return io.EOF
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
	s := &jtlSample{sample: t.Name.Local == "httpSample"}
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

func (s *jtlSample) fill(f *fill.Line) error {
	url := s.url
	if url == "" {
		url = s.attr["lb"]
	}
	return fillJTL(f, func(name string) []byte {
		switch name {
		case "URL":
			return []byte(url)
		case "method":
			return []byte(s.method)
		}
		short := map[string]string{"timeStamp": "ts", "elapsed": "t", "Latency": "lt", "responseCode": "rc", "bytes": "by", "sentBytes": "sby"}
		return []byte(s.attr[short[name]])
	})
}

// fillJTL fills a record; get returns a value by its column name in CSV.
func fillJTL(f *fill.Line, get func(name string) []byte) error {
	if err := fill.Start(f, get("timeStamp")); err != nil {
		return err
	}
	if err := fill.Latency(time.Millisecond)(f, get("elapsed")); err != nil {
		return err
	}
	first, ok := stamp.Decimal(get("Latency"), time.Millisecond)
	if r := f.Rec; ok && first > 0 && r.Latency != trace.Unknown {
		r.Transfer = max(r.Latency-first, 0)
	}
	if v := get("responseCode"); len(v) == 3 && stamp.Digits(v) >= 0 { // otherwise "Non HTTP response code: …"
		f.Rec.Status = stamp.Digits(v)
	}
	if v := get("bytes"); len(v) > 0 {
		if err := fill.Size(fill.AnswerBytes, false)(f, v); err != nil {
			return err
		}
	}
	if v := get("sentBytes"); len(v) > 0 {
		if err := fill.Size(fill.RequestBytes, false)(f, v); err != nil {
			return err
		}
	}
	if v := get("method"); len(v) > 0 {
		if err := fill.Method(f, v); err != nil {
			return err
		}
	}
	if err := f.SetURI(get("URL")); err != nil {
		return err
	}
	return f.Finish(true)
}
