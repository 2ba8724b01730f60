package jmeter

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"github.com/taktload/takt/internal/scene/from/taken"
	"io"
	"strings"
)

// element is an element of XML.
type element struct {
	tag  string
	attr map[string]string
	text string
	list []*element
	line int
}

// maxElements bounds an XML document: a plan of a thousand requests has some 50 000.
const maxElements = 2_000_000

// readXML reads a document. It replaces no entities of its own.
func readXML(text []byte) (*element, error) {
	in := xml.NewDecoder(bytes.NewReader(text))
	in.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // plans are ASCII as far as it matters
	root := &element{}
	open := []*element{root}
	for n := 0; ; {
		t, err := in.Token()
		if err == io.EOF && len(open) == 1 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is not XML: %w", err)
		}
		at := open[len(open)-1]
		switch t := t.(type) {
		case xml.StartElement:
			if n++; n > maxElements || len(open) > 4*taken.MaxDepth {
				return nil, errors.New("it has too many elements, or too many in one another")
			}
			line, _ := in.InputPos()
			e := &element{tag: t.Name.Local, attr: map[string]string{}, line: line}
			for _, a := range t.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			at.list, open = append(at.list, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(at.list) == 0 {
				at.text += string(t)
			}
		}
	}
	if len(root.list) == 0 {
		return nil, errors.New("there is no element in it")
	}
	return root.list[0], nil
}

// prop is a property with one of these names; "": the element has none.
func (e *element) prop(names ...string) string {
	for _, name := range names {
		if p := e.child(name); p != nil {
			return strings.TrimSpace(p.text)
		}
	}
	return ""
}

// child is the property with this name; nil: there is none.
func (e *element) child(name string) *element {
	for _, p := range e.list {
		if p.attr["name"] == name {
			return p
		}
	}
	return nil
}

// entries are the elements of a collection that is a property, or in one.
func (e *element) entries(names ...string) []*element {
	for _, name := range names {
		if e = e.child(name); e == nil {
			return nil
		}
	}
	return e.list
}
