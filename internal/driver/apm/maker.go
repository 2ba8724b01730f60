package apm

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"time"
)

// maker writes the events of bodies. Its seed determines everything except the timestamps,
// which count from now and have the same length at any time.
type maker struct {
	rnd  *rand.Rand
	app  *application
	form form
	now  time.Time
	b    []byte

	// fields of the current transaction
	trace, transaction string
	took               float64 // ms
	at                 time.Time
}

// form is the format of a body.
type form struct {
	v1  bool // one JSON object, for apm-server 6; otherwise a line per event
	rum bool // from a browser
}

func newMaker(seed uint64, f form, now time.Time) *maker {
	rnd := rand.New(rand.NewPCG(seed, 0x61706d))
	return &maker{rnd: rnd, app: newApplication(rnd, f.rum), form: f, now: now}
}

// The methods below append parts of the JSON.

func (m *maker) raw(s string) { m.b = append(m.b, s...) }

// text writes a string that needs no escapes, between before and after.
func (m *maker) text(before, value, after string) {
	m.raw(before)
	m.raw(value)
	m.raw(after)
}

func (m *maker) number(before string, n int, after string) {
	m.raw(before)
	m.b = strconv.AppendInt(m.b, int64(n), 10)
	m.raw(after)
}

// millis writes a duration in milliseconds, with its microseconds.
func (m *maker) millis(before string, ms float64, after string) {
	m.raw(before)
	m.b = strconv.AppendFloat(m.b, ms, 'f', 3, 64)
	m.raw(after)
}

// timestamp writes an instant: microseconds since 1970 in v2, text in v1.
func (m *maker) timestamp(t time.Time) {
	if m.form.v1 {
		m.text(`"timestamp":"`, t.UTC().Format("2006-01-02T15:04:05.000000Z"), `"`)
		return
	}
	m.raw(`"timestamp":`)
	m.b = strconv.AppendInt(m.b, t.UnixMicro(), 10)
}

// id is a random identifier of n bytes in hexadecimal.
func (m *maker) id(n int) string {
	var b [16]byte
	for i := range n {
		b[i] = byte(m.rnd.Uint32())
	}
	return hex.EncodeToString(b[:n])
}

// uuid is the form of identifiers in v1.
func (m *maker) uuid() string {
	s := m.id(16)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// of picks a random element.
func (m *maker) of(list ...string) string { return list[m.rnd.IntN(len(list))] }

// between is a random number of milliseconds; short ones are more frequent.
func (m *maker) between(low, high float64) float64 {
	f := m.rnd.Float64()
	return low + (high-low)*f*f
}

// stack writes n frames; most are just below their caller in the code.
func (m *maker) stack(before string, n int, after string) {
	m.raw(before)
	at := m.rnd.IntN(codeSize)
	for i := range n {
		if i > 0 {
			m.raw(",")
		}
		m.b = append(m.b, m.app.frames[at]...)
		if at++; m.rnd.IntN(4) == 0 {
			at = m.rnd.IntN(codeSize)
		}
		at %= codeSize
	}
	m.raw(after)
}
