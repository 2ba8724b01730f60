package amqp

import (
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// flushAt is the number of buffered bytes at which Send wakes the writer.
const flushAt = 32 << 10

// lastWrite is the time limit of the last frame: the broker may have closed already.
const lastWrite = time.Second

// outbox is the bytes waiting to be written, and those being written; guarded by Conn.mu.
type outbox struct {
	waits   []byte
	batch   []byte // bytes being written; batch[:done] is written
	done    int
	writing bool
	stuck   bool // the socket is full: the writer must continue with batch
	active  bool // bytes were written since the last tick
}

// take begins to write the waiting bytes; nil if there are none or a write is under way.
func (o *outbox) take() []byte {
	if len(o.waits) == 0 || o.writing {
		return nil
	}
	o.waits, o.batch = o.batch[:0], o.waits
	o.writing, o.active, o.done = true, true, 0
	return o.batch
}

// wrote notes that n more bytes of the batch were written.
func (o *outbox) wrote(n int) {
	o.done += n
	o.stuck = o.done < len(o.batch)
	o.writing = o.stuck
}

// resume is take for the writer, which continues a write that Flush could not finish.
func (o *outbox) resume() []byte {
	if !o.stuck {
		return o.take()
	}
	o.stuck = false
	return o.batch[o.done:]
}

// Flush writes the buffered frames of Send and Accept. It does not wait: the writing
// goroutine writes what the socket does not accept at once. Callbacks need no Flush: their
// frames go out at the end of the burst.
func (c *Conn) Flush() {
	c.mu.Lock()
	if c.direct == nil {
		c.poke()
		c.mu.Unlock()
		return
	}
	batch := c.out.take()
	c.mu.Unlock()
	if batch != nil {
		c.wrote(c.direct.TryWrite(batch))
	}
}

// poke wakes the writer if there is something to write; under mu.
func (c *Conn) poke() {
	if !c.out.stuck && (len(c.out.waits) == 0 || c.out.writing) {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// wrote ends a write, or leaves the rest and newer frames to the writer.
func (c *Conn) wrote(n int) {
	c.sentBytes.Add(int64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.wrote(n)
	c.poke()
}

// write is the writing goroutine. It writes what Flush cannot write at once, and sends
// heartbeats. Frames buffered during one write go with the next.
func (c *Conn) write() {
	defer func() { _ = c.net.Close() }() // everything important was written
	every := c.beat()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var silent time.Duration
	for {
		select {
		case <-c.wake:
		case <-tick.C:
			silent += every
			if c.heard.Swap(false) {
				silent = 0
			}
			c.tick(silent)
		case <-c.done:
			for c.writeBatch(lastWrite) { // may include the answer to the broker's close
			}
			return
		}
		c.writeBatch(c.opt.IdleTimeout)
	}
}

// writeBatch writes the waiting bytes, and reports whether there were any and the write
// succeeded.
func (c *Conn) writeBatch(most time.Duration) bool {
	c.mu.Lock()
	batch := c.out.resume()
	c.mu.Unlock()
	if batch == nil {
		return false
	}
	_ = c.net.SetWriteDeadline(time.Now().Add(most)) // fails only if the write fails, too
	_, err := c.net.Write(batch)
	if err != nil {
		c.fail(fmt.Errorf("cannot write to the broker: %w", err))
	}
	_ = c.net.SetWriteDeadline(time.Time{}) // Flush does not wait
	c.wrote(len(batch))
	return err == nil
}

var errSilent = errors.New("the broker is silent")

// tick sends a heartbeat if nothing was written since the last tick, and closes the
// connection after the idle timeout.
func (c *Conn) tick(silent time.Duration) {
	if silent >= c.opt.IdleTimeout {
		c.fail(fmt.Errorf("%w: no byte for %v", errSilent, c.opt.IdleTimeout))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.out.active && c.peer.IdleTimeout > 0 {
		at := len(c.out.waits)
		c.out.waits = wire.CloseFrame(wire.OpenFrame(c.out.waits, wire.FrameAMQP, 0), at)
	}
	c.out.active = false
}

// beat is the time between ticks: a quarter of the shorter idle timeout. So the broker waits
// at most two ticks, half of its timeout. It is at least 10 ms.
func (c *Conn) beat() time.Duration {
	every := c.opt.IdleTimeout
	if theirs := c.peer.IdleTimeout; theirs > 0 {
		every = min(every, theirs)
	}
	return max(every/4, 10*time.Millisecond)
}
