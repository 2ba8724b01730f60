package amqptest

import (
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Question is a message with an address for the answer.
type Question struct {
	to         string
	Properties wire.Value // application properties
	Body       string
}

// Text is an application property.
func (q *Question) Text(name string) string {
	b, _ := q.Properties.Find(name).Bytes()
	return string(b)
}

// question reads a message; "" in to: it wants no answer.
func question(message []byte) (q Question) {
	for d := (wire.Decoder{B: message}); len(d.B) > 0 && !d.Bad; {
		switch is, v := d.Described(); is {
		case wire.IsProperties:
			l := v.List()
			l.Skip(4)
			q.to = l.Text()
		case wire.IsApplication:
			q.Properties = v
		case wire.IsValue:
			b, _ := v.Bytes()
			q.Body = string(b)
		}
	}
	return q
}

// answer pushes the answer of the script, and reports whether the message was a question.
func (c *Conn) answer(address string, message []byte) bool {
	if c.script.Answer == nil {
		return false
	}
	q := question(message)
	if q.to == "" {
		return false
	}
	ok, text := c.script.Answer(address, q)
	m := wire.OpenCompound(wire.AppendDescriptor(nil, wire.IsApplication), wire.CodeMap32)
	m.Text("_AMQ_OperationSucceeded")
	m.B = wire.AppendBool(m.Next(), ok)
	c.Push(q.to, wire.AppendString(wire.AppendDescriptor(m.Close(), wire.IsValue), text))
	return true
}

// temporary is the address of a node that the broker makes.
func (b *Broker) temporary() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	return fmt.Sprintf("temporary-%d", b.made)
}
