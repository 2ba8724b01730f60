package format

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// operation is a Sample with the times for its columns.
type operation struct {
	*takt.Sample
	response, delay                time.Duration // from due to done, and from due to sent
	dialup, dns, answer, remaining time.Duration // see phaseIndex.split
}

// unknown is a time without a measurement. Its cell is empty: 0 would be a wrong number.
const unknown time.Duration = -1

// rowColumn is a column of the format samples.
type rowColumn struct {
	name string
	cell func(dst []byte, o *operation) []byte
}

// rowColumns are hey's columns, followed by takt's own.
func rowColumns() []rowColumn {
	return []rowColumn{
		{"response-time", func(b []byte, o *operation) []byte { return appendSeconds(b, o.response) }},
		{"DNS+dialup", func(b []byte, o *operation) []byte { return appendSeconds(b, o.dialup) }},
		{"DNS", func(b []byte, o *operation) []byte { return appendSeconds(b, o.dns) }},
		{"Request-write", func(b []byte, _ *operation) []byte { return b }}, // no client measures it
		{"Response-delay", func(b []byte, o *operation) []byte { return appendSeconds(b, o.answer) }},
		{"Response-read", func(b []byte, o *operation) []byte { return appendSeconds(b, o.remaining) }},
		{"status-code", func(b []byte, o *operation) []byte { return strconv.AppendInt(b, int64(o.Status), 10) }},
		{"offset", func(b []byte, o *operation) []byte { return appendSeconds(b, o.Due) }},
		{"send-delay", func(b []byte, o *operation) []byte { return appendSeconds(b, o.delay) }},
		{"class", func(b []byte, o *operation) []byte { return appendWord(b, cmp.Or(o.Class, "ok")) }},
	}
}

// traceColumn has the trace ids of a run whose requests contain them.
func traceColumn(run string) rowColumn {
	var traces payload.Traces
	traces.Begin(run)
	return rowColumn{"trace-id", func(b []byte, o *operation) []byte {
		if o.Sent == takt.NotSent {
			return b
		}
		return traces.Append(b, o.Seq)
	}}
}

// stepColumn has the names of a scenario's steps.
func stepColumn(names []string) rowColumn {
	return rowColumn{"step", func(b []byte, o *operation) []byte {
		if o.Step == 0 || o.Step > len(names) {
			return b
		}
		return appendWord(b, names[o.Step-1])
	}}
}

// appendSeconds writes all nanoseconds, so that columns add up to the last digit. hey's four
// digits show 50 µs as 0.0001.
func appendSeconds(dst []byte, d time.Duration) []byte {
	if d < 0 {
		return dst
	}
	dst = strconv.AppendInt(dst, int64(d/time.Second), 10)
	dst = append(dst, '.')
	rest := int64(d % time.Second)
	for unit := int64(time.Second) / 10; unit > 0; unit /= 10 {
		dst = append(dst, '0'+byte(rest/unit%10))
	}
	return dst
}

// appendWord quotes a word where CSV requires it: drivers choose classes, and people the names of steps.
func appendWord(dst []byte, word string) []byte {
	if !strings.ContainsAny(word, "\",\r\n") {
		return append(dst, word...)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{word}) // cannot fail: writes to memory
	w.Flush()
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}

// timedColumns have the latencies of parts of answers, and whether each operation met the conditions of the run.
func timedColumns(a timeline.Announced) (all []rowColumn) {
	for i, name := range a.Rows() {
		all = append(all, rowColumn{strings.ReplaceAll(name, "_", "-"), func(b []byte, o *operation) []byte {
			if o.Timed[i] == 0 {
				return b
			}
			return appendSeconds(b, o.Timed[i])
		}})
	}
	if a.Goal != "" {
		all = append(all, rowColumn{"good", func(b []byte, o *operation) []byte {
			switch o.Goal {
			case takt.GoalMet:
				return append(b, "yes"...)
			case takt.GoalUnknown:
				return append(b, "unknown"...)
			}
			return append(b, "no"...)
		}})
	}
	return all
}

type samplesWriter struct {
	w       io.Writer
	columns []rowColumn
	index   phaseIndex
	op      operation // current row
	lines   []byte
}

// openSamples writes the head at once, so that a full disk is noticed before the run.
func openSamples(w io.Writer, head takt.Report) (Writer, error) {
	s := &samplesWriter{w: w, columns: rowColumns()}
	if head.Variables[payload.VariableTraces] == true {
		s.columns = append(s.columns, traceColumn(head.ID))
	}
	if names := steps.Names(&head); names != nil {
		s.columns = append(s.columns, stepColumn(names))
	}
	s.columns = append(s.columns, timedColumns(timeline.AnnouncedIn(&head))...)
	var names []string
	for _, c := range s.columns {
		names = append(names, c.name)
	}
	_, err := io.WriteString(w, strings.Join(names, ",")+"\n")
	return s, err
}

func (*samplesWriter) Interval(takt.Interval, timeline.Lent) error { return nil }
func (*samplesWriter) Close(*takt.Report) error                    { return nil }

// linesAtOnce is how many bytes are rendered before they are written: a row has about
// 90 bytes.
const linesAtOnce = 64 << 10

// Samples implements RowWriter.
func (s *samplesWriter) Samples(phases []string, list []takt.Sample) error {
	s.index = indexOf(phases)
	for i := range list {
		s.row(&list[i])
		if len(s.lines) >= linesAtOnce || i == len(list)-1 {
			_, err := s.w.Write(s.lines)
			s.lines = s.lines[:0]
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *samplesWriter) row(sample *takt.Sample) {
	s.op = s.index.operation(sample)
	for i := range s.columns {
		if i > 0 {
			s.lines = append(s.lines, ',')
		}
		s.lines = s.columns[i].cell(s.lines, &s.op)
	}
	s.lines = append(s.lines, '\n')
}

// phaseIndex has the indexes in Sample.Phases of the phases for the columns; -1: the driver
// has no such phase.
type phaseIndex struct{ dns, connect, tls, firstByte int }

func indexOf(phases []string) phaseIndex {
	at := func(name string) int { return slices.Index(phases, name) }
	return phaseIndex{dns: at("dns"), connect: at("connect"), tls: at("tls"), firstByte: at("first_byte")}
}

// operation computes the times of s. An operation that was not sent has no send delay; one
// that did not end has no phases.
func (p phaseIndex) operation(s *takt.Sample) operation {
	o := operation{s, unknown, unknown, unknown, unknown, unknown, unknown}
	if s.Class != takt.ClassDropped && s.Done != takt.NoAnswer {
		o.response = s.Done - s.Due
	}
	if s.Sent != takt.NotSent {
		o.delay = s.Sent - s.Due
	}
	if s.Class != takt.ClassDropped && s.Class != takt.ClassUnfinished {
		p.split(&o)
	}
	return o
}

// split splits the service time into dialup (including dns), answer, until the first byte,
// and the remaining time. If no byte was sent or received there may have been no connection:
// then a phase of 0 failed, and was not skipped for a reused connection.
func (p phaseIndex) split(o *operation) {
	first := p.of(o, p.firstByte)
	connected := o.BytesSent > 0 || first > 0
	if dns := p.of(o, p.dns); connected || dns > 0 {
		o.dns = dns
	}
	if connected {
		o.dialup = sum(p.of(o, p.dns), p.of(o, p.connect), p.of(o, p.tls))
	}
	if first <= 0 {
		return
	}
	o.remaining = max(unknown, o.Done-o.Sent-first)
	if o.dialup >= 0 {
		o.answer = max(unknown, first-o.dialup)
	}
}

func (phaseIndex) of(o *operation, i int) time.Duration {
	if i < 0 {
		return unknown
	}
	return o.Phases[i]
}

// sum adds the known times; unknown if there are none.
func sum(list ...time.Duration) time.Duration {
	total := unknown
	for _, d := range list {
		if d >= 0 {
			total = max(0, total) + d
		}
	}
	return total
}
