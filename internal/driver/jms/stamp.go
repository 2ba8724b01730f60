package jms

import (
	"math/rand/v2"
	"time"

	"github.com/taktload/takt/internal/amqp"
)

// The properties of messages. Time is artemis perf's: the time of sending, in microseconds
// since 1970. The other properties are takt's.
const (
	propertyTime   = "time"
	propertyRun    = "takt_run"    // run in the upper 48 bits, producer in the lower 16
	propertyNumber = "takt_number" // number of the producer's message, from 0
	propertyDue    = "takt_due"    // due time, in the unit of time
)

// runID identifies the messages of one run. It has 47 bits, so it is never negative in Java.
type runID int64

func newRunID() runID { return runID(rand.Int64N(1<<47-1) + 1) }

const streamBits = 16

// stamp is the run, number and times in a message's properties.
type stamp struct {
	run       runID
	stream    int
	number    uint64
	sent, due time.Duration // time since 1970; 0: absent
	ours      bool          // the message is from takt
}

func readStamp(d *amqp.Delivery) (s stamp) {
	micros := func(name string) time.Duration {
		n, _ := d.Application(name).Int()
		return time.Duration(n) * time.Microsecond
	}
	s.sent = micros(propertyTime)
	run, ok := d.Application(propertyRun).Int()
	if !ok {
		return s
	}
	number, ok := d.Application(propertyNumber).Int()
	s.run, s.stream, s.number, s.ours = runID(run>>streamBits), int(run&(1<<streamBits-1)), uint64(number), ok && number >= 0
	s.due = micros(propertyDue)
	return s
}

// of reports whether r sent the message. The pacer counts a message just after it is sent, so the
// count may lack one. A broker that invents numbers must not make others seem lost.
func (s *stamp) of(r *run) bool { return s.run == r.id && s.number <= r.meter.sent.Load() }

// slots are the patched places of a template.
type slots struct{ time, number, due amqp.Slot }

// template makes the template of one producer's messages to d; to is the broker's address of
// d.
func (o *Options) template(d destination, to string, run runID, stream int) (*amqp.Template, slots, error) {
	m := amqp.Message{
		Durable: o.Persistent, Priority: byte(o.Priority), TTL: time.Duration(o.TTL) * time.Millisecond, Expires: o.TTL > 0,
		Annotations: []amqp.Field{{Name: "x-opt-jms-dest", Value: int8(0)}, {Name: "x-opt-jms-msg-type", Value: int8(3)}}, // a BytesMessage
		To:          to, ContentType: "application/octet-stream", GroupID: o.Group, Stamped: o.EnableTimestamp,
		Application: []amqp.Field{{Name: propertyTime, Value: int64(0)}},
	}
	if d.topic {
		m.Annotations[0].Value = int8(1)
	}
	if o.EnableMsgID {
		m.MessageID, m.Numbered = "ID:takt-"+run.String()+"-"+itoa(stream)+"-", true
	}
	if !o.Plain {
		m.Application = append(m.Application,
			amqp.Field{Name: propertyRun, Value: int64(run)<<streamBits | int64(stream)},
			amqp.Field{Name: propertyNumber, Value: int64(0)}, amqp.Field{Name: propertyDue, Value: int64(0)})
	}
	t, err := amqp.NewTemplate(m)
	if err != nil {
		return nil, slots{}, err
	}
	var s slots
	s.time, err = t.Long(propertyTime)
	if err == nil && !o.Plain {
		s.number, _ = t.Long(propertyNumber) // both are set above
		s.due, err = t.Long(propertyDue)
	}
	return t, s, err
}
