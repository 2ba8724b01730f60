package amqp

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Message is the common part of all messages of a Template.
type Message struct {
	Durable     bool
	Priority    byte          // 0 to 9; defaultPriority is the standard's default
	TTL         time.Duration // time to live in whole milliseconds; 0: unlimited
	Annotations []Field       // such as x-opt-jms-msg-type, an int8

	MessageID   string // message id, followed by Template.Number if Numbered
	Numbered    bool
	To          string
	ReplyTo     string
	ContentType string
	GroupID     string
	Stamped     bool // with a creation time: Template.Created
	Expires     bool // with an absolute expiry time: Template.Expiry

	Application []Field // application properties; those of type int64 can be patched
	Text        bool    // the body is a string value, otherwise binary data
}

// defaultPriority is the priority of a message that sets none.
const defaultPriority = 4

// Field is a named value: string, int8 or int64.
type Field struct {
	Name  string
	Value any
}

// appendTo appends the value as a member of a map; false if Field does not support its type.
func (f Field) appendTo(b []byte) ([]byte, bool) {
	switch v := f.Value.(type) {
	case string:
		return wire.AppendString(b, v), true
	case int8:
		return append(b, wire.CodeByte, byte(v)), true
	case int64:
		return wire.AppendLong(b, wire.CodeLong, v), true
	}
	return b, false
}

// check reports all faults.
func (m *Message) check() error {
	var faults []error
	if m.Priority > 9 {
		faults = append(faults, fmt.Errorf("priority %d; use 0 to 9", m.Priority))
	}
	if m.TTL < 0 || m.TTL%time.Millisecond != 0 || m.TTL/time.Millisecond > math.MaxUint32 {
		faults = append(faults, fmt.Errorf("time to live of %v; use whole milliseconds, at most 49 days", m.TTL))
	}
	return errors.Join(append(faults, checkFields("annotation", m.Annotations), checkFields("property", m.Application))...)
}

func checkFields(kind string, fields []Field) error {
	var faults []error
	seen := map[string]bool{}
	for _, f := range fields {
		if _, ok := f.appendTo(nil); !ok {
			faults = append(faults, fmt.Errorf("%s %q is a %T; use string, int8 or int64", kind, f.Name, f.Value))
		}
		if f.Name == "" || seen[f.Name] {
			faults = append(faults, fmt.Errorf("%s %q has no name of its own; name each once", kind, f.Name))
		}
		seen[f.Name] = true
	}
	return errors.Join(faults...)
}
