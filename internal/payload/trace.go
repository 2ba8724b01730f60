package payload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// VariableTraces is the variable of a report that is true if requests contain trace ids.
const VariableTraces = "traceparent"

// Traces are the trace ids of the operations of one run, as tracers know them (W3C Trace Context). An id
// follows from the run's and the operation's number, so nobody has to keep it.
type Traces struct{ run uint64 }

// Begin sets the id of the run. Call it before operations begin.
func (t *Traces) Begin(id string) {
	sum := sha256.Sum256([]byte(id)) // the ids of two runs may begin alike
	t.run = binary.BigEndian.Uint64(sum[:])
}

// Append appends the trace id of an operation: 16 hexadecimal digits of the run, and 16 of the operation.
func (t *Traces) Append(dst []byte, seq uint64) []byte {
	return appendHex(appendHex(dst, t.run|1), mix(t.run+seq*gamma)) // an id of zeros is not valid
}

func appendHex(dst []byte, v uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return hex.AppendEncode(dst, b[:])
}

// traceparent is {{traceparent}}: version, trace id, the id of takt's own span, and that the trace is
// sampled.
type traceparent struct{ *Traces }

func (t traceparent) append(dst []byte, seq uint64) []byte {
	dst = append(t.Traces.Append(append(dst, "00-"...), seq), '-')
	return append(appendHex(dst, mix(t.run^seq*gamma)|1), "-01"...)
}

func (traceparent) longest() int { return 55 }

func makeTraceparent(p *parser, args []token) (part, error) {
	switch {
	case len(args) > 0:
		return nil, errArguments
	case p.env.Traces == nil:
		return nil, errors.New("there is no trace id here; use it in the URL, -H or -d of takt http")
	}
	return traceparent{p.env.Traces}, nil
}

// Traces reports whether what is appended has a trace id.
func (t *Template) Traces() bool {
	for _, p := range t.parts {
		if _, is := plainPart(p).(traceparent); is {
			return true
		}
	}
	return false
}
