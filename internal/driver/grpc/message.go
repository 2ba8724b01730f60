package grpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// mostMessages is how many messages an input may have, and mostBytes how long the messages of one call may be.
const (
	mostMessages = 1 << 20
	mostBytes    = 256 << 20
)

// text is a message as the user wrote it.
type text struct{ *payload.Template }

// split cuts the input into the texts of messages: values of JSON one behind the other, or the elements of one list. If
// placeholders stand where JSON has none, each line is a message that is one when it is filled in; else all is one.
func split(input string, fill func(text string) (string, error)) ([]string, error) {
	list, err := values(input)
	if err == nil {
		return list, nil
	}
	if errors.Is(err, errMostMessages) {
		return nil, err
	}
	list = nil
	for line := range bytes.Lines([]byte(input)) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		filled, err := fill(string(line))
		if err != nil || !json.Valid([]byte(filled)) {
			return []string{input}, nil
		}
		if list = append(list, string(line)); len(list) > mostMessages {
			return nil, errMostMessages
		}
	}
	return list, nil
}

var errMostMessages = fmt.Errorf("there are more than %d messages, the most that takt keeps in memory", mostMessages)

// values are the values of JSON in a text.
func values(input string) (list []string, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(input)))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if list = append(list, string(v)); len(list) > mostMessages {
			return nil, errMostMessages
		}
	}
	if len(list) != 1 || list[0][0] != '[' {
		return list, nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal([]byte(list[0]), &elements); err != nil {
		return nil, err
	}
	if list = nil; len(elements) > mostMessages {
		return nil, errMostMessages
	}
	for _, e := range elements {
		list = append(list, string(e))
	}
	return list, nil
}

// readMessages reads the input of the user: the texts of the messages.
func (o *Options) readMessages() error {
	o.texts = nil
	input, err := o.conn.ReadBody()
	if err != nil {
		return err
	}
	if o.sum = ""; len(input) > 0 {
		sum := sha256.Sum256(input)
		o.sum = hex.EncodeToString(sum[:])
	}
	o.env = o.conn.Templates()
	filled := o.conn.BodyFile == "" || o.conn.BodyTemplate
	parse := func(name, s string) (*payload.Template, error) {
		if !filled {
			return payload.Literal(s), nil
		}
		t, err := o.env.Parse(name, s)
		return t, value.About(err, "body", "body-file")
	}
	list := []string{string(input)}
	if !o.Raw {
		trial := o.conn.Templates() // so that no placeholder is counted twice
		list, err = split(string(input), func(s string) (string, error) {
			t, err := trial.Parse("message", s)
			if err != nil {
				return "", err
			}
			return string(t.Append(nil, 0)), nil
		})
		if err != nil {
			return value.About(err, "body", "body-file")
		}
		if len(list) == 0 {
			list = []string{"{}"}
		}
	}
	for i, s := range list {
		name := "message"
		if len(list) > 1 {
			name = fmt.Sprintf("message %d", i+1)
		}
		t, err := parse(name, s)
		if err != nil {
			return err
		}
		o.texts = append(o.texts, text{t})
	}
	return nil
}

// encoder makes messages of their texts. It belongs to one goroutine.
type encoder struct {
	of      *dynamicpb.Message // nil: texts are the bytes themselves
	json    protojson.UnmarshalOptions
	zip     *gzip.Writer // nil: messages are not compressed
	text    []byte
	message []byte
	packed  bytes.Buffer
}

func newEncoder(m *method, raw, zip bool) *encoder {
	e := new(encoder)
	if !raw {
		e.of = dynamicpb.NewMessage(m.in)
		e.json.Resolver = m.types
	}
	if zip {
		e.zip = gzip.NewWriter(io.Discard)
	}
	return e
}

// append appends the message of t with that number, in its frame.
func (e *encoder) append(dst []byte, t text, number uint64) ([]byte, error) {
	e.text = t.Append(e.text[:0], number)
	b := e.text
	if e.of != nil {
		if err := e.json.Unmarshal(e.text, e.of); err != nil {
			return dst, wrong(e.of.Descriptor(), e.text, err)
		}
		var err error
		if b, err = (proto.MarshalOptions{Deterministic: true}).MarshalAppend(e.message[:0], e.of); err != nil {
			return dst, wrong(e.of.Descriptor(), e.text, err)
		}
		e.message = b
	}
	if e.zip == nil {
		return appendMessage(dst, b, false), nil
	}
	e.packed.Reset()
	e.zip.Reset(&e.packed)
	if _, err := e.zip.Write(b); err != nil {
		return dst, err
	}
	if err := e.zip.Close(); err != nil {
		return dst, err
	}
	return appendMessage(dst, e.packed.Bytes(), true), nil
}

// wrong is the error of a text that is no message.
func wrong(m protoreflect.MessageDescriptor, text []byte, err error) error {
	var names []string
	for i := range m.Fields().Len() {
		names = append(names, m.Fields().Get(i).JSONName())
	}
	fields := "it has no fields, so write {}"
	if len(names) > 0 {
		fields = "write JSON with its fields: " + list(names)
	}
	return fmt.Errorf("the message %s is no %s: %s; %s", quoted(string(text)), m.FullName(), clean(err), fields)
}
