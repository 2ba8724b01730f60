package grpc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/exchange"
	"github.com/taktload/takt/internal/figure"
)

// Limits of --debug.
const (
	debuggedCalls    = 100
	debuggedMessages = 1000 // of a call
)

// Watch is driver.Debug.Watch: it makes one call of each message, or of all for a method to which clients stream.
func (o *Options) Watch(seen func(*exchange.Exchange)) (tap engine.Tap, most uint64, err error) {
	r, err := o.newRun()
	if err != nil {
		return nil, 0, err
	}
	most = uint64(max(1, len(r.whole), len(o.texts)/r.each))
	return exchange.NewTap(func(x *exchange.Exchange) {
		o.explain(x)
		seen(x)
	}), min(most, debuggedCalls), nil
}

// explain takes the messages of an exchange apart.
func (o *Options) explain(x *exchange.Exchange) {
	sent := codingNone
	if o.Gzip {
		sent = codingGzip
	}
	o.split(&x.Request, o.method.in, sent)
	var c call
	if c.head(x.Answer.Field("content-type")); c.fault == nil {
		o.split(&x.Answer, o.method.out, codingOf([]byte(x.Answer.Field("grpc-encoding"))))
	}
}

// split makes parts of the messages in m. of describes them; nil: nothing does.
func (o *Options) split(m *exchange.Message, of protoreflect.MessageDescriptor, c coding) {
	f := frames{keeps: true, most: o.MessageMax, coding: c}
	for at := 0; at < len(m.Body) && len(m.Parts) < debuggedMessages; {
		n, ended, err := f.next(m.Body[at:])
		if err != nil {
			m.Note = err.Error()
			return
		}
		if at += n; ended {
			m.Parts = append(m.Parts, exchange.Part{At: m.At(at), Text: o.text(f.kept, of)})
			f.kept = f.kept[:0]
		}
	}
	if len(m.Parts) == debuggedMessages {
		m.Note = fmt.Sprintf("only the first %d messages are shown", debuggedMessages)
	}
}

// shownRaw is how many bytes are shown of a message whose fields are not known.
const shownRaw = 64

// text is a message as JSON, as far as its fields are known, else in hex.
func (o *Options) text(b []byte, of protoreflect.MessageDescriptor) string {
	raw := func(why string) string {
		return fmt.Sprintf("%s%s: %s", figure.Plural(len(b), "byte"), why, hex.EncodeToString(b[:min(len(b), shownRaw)]))
	}
	if of == nil {
		return raw("")
	}
	m := dynamicpb.NewMessage(of)
	if err := (proto.UnmarshalOptions{Resolver: o.method.types}).Unmarshal(b, m); err != nil {
		return raw(", no " + string(of.FullName()))
	}
	text, err := (protojson.MarshalOptions{Resolver: o.method.types}).Marshal(m)
	if err != nil {
		return raw(", " + clean(err))
	}
	var plain bytes.Buffer // protojson adds spaces at random
	if json.Compact(&plain, text) != nil {
		return raw("")
	}
	if n := len(m.GetUnknown()); n > 0 {
		fmt.Fprintf(&plain, " and %d bytes of fields that its description lacks", n)
	}
	return plain.String()
}
