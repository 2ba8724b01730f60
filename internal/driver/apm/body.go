package apm

import (
	"bytes"
	"compress/gzip"
)

// shape is the number and size of a body's events.
type shape struct {
	transactions int
	spans        []int // numbers of spans, for transactions in turn; nil: no spans
	frames       int   // frames of a span
	errors       int
	errorFrames  int
	metrics      int
}

// spansOf is the number of spans of transaction i.
func (s shape) spansOf(i int) int {
	if len(s.spans) == 0 {
		return 0
	}
	return s.spans[i%len(s.spans)]
}

// body is the content of one request.
type body struct {
	text    []byte
	head    int // size of v2's metadata line, with its line break
	events  int
	largest int // size in bytes of the largest event
}

// body makes a body of shape s.
func (m *maker) body(s shape) body {
	m.b = nil
	m.trace, m.transaction = "", ""
	if m.form.v1 {
		return m.document(s)
	}
	var b body
	m.raw(`{"metadata":{`)
	m.metadata()
	m.raw("}}\n")
	b.head = len(m.b)
	m.events(s, func(kind string, write func()) {
		begin := len(m.b)
		m.text(`{"`, kind, `":`)
		write()
		m.raw("}\n")
		b.events++
		b.largest = max(b.largest, len(m.b)-begin)
	})
	b.text = m.b
	return b
}

// events calls add for each event of s. Errors belong to the transaction before them.
func (m *maker) events(s shape, add func(kind string, write func())) {
	failed := 0
	for i := range s.transactions {
		add("transaction", func() {
			m.transactionHead(s.spansOf(i))
			m.raw("}")
		})
		for k := range s.spansOf(i) {
			add("span", func() { m.span(k, s.frames) })
		}
		for ; failed < (i+1)*s.errors/s.transactions; failed++ {
			add("error", func() { m.failure(s.errorFrames) })
		}
	}
	for ; failed < s.errors; failed++ {
		add("error", func() { m.failure(s.errorFrames) })
	}
	for range s.metrics {
		add("metricset", m.metrics)
	}
}

// document is a v1 body, which has one kind of event. Spans are within their transactions.
func (m *maker) document(s shape) body {
	var b body
	m.raw("{")
	m.metadata()
	add := func(list string, n int, write func(i int)) {
		for i := range n {
			begin := len(m.b)
			if i == 0 {
				m.text(`,"`, list, `":[`)
			} else {
				m.raw(",")
			}
			write(i)
			b.events++
			b.largest = max(b.largest, len(m.b)-begin)
		}
		if n > 0 {
			m.raw("]")
		}
	}
	add("transactions", s.transactions, func(i int) {
		m.transactionHead(s.spansOf(i))
		m.raw(`,"spans":[`)
		for k := range s.spansOf(i) {
			if k > 0 {
				m.raw(",")
			}
			m.span(k, s.frames)
		}
		m.raw("]}")
		b.events += s.spansOf(i)
	})
	add("errors", s.errors, func(int) { m.failure(s.errorFrames) })
	add("metrics", s.metrics, func(int) { m.metrics() })
	m.raw("}")
	b.text = m.b
	return b
}

// packer compresses bodies.
type packer struct{ w *gzip.Writer }

func (p *packer) pack(text []byte) []byte {
	var b bytes.Buffer
	if p.w == nil {
		p.w = gzip.NewWriter(&b)
	} else {
		p.w.Reset(&b)
	}
	_, _ = p.w.Write(text) // cannot fail: writes to memory
	_ = p.w.Close()
	return b.Bytes()
}
