package amqp

import (
	"errors"
	"fmt"
	"time"
)

// flushAt is how many buffered bytes Send hands to the writer of its own accord.
const flushAt = 32 << 10

// lastWrite is how long the last frame may take: the broker has gone already.
const lastWrite = time.Second

// outbox is what waits to be written, and what is being written; under Conn.mu.
type outbox struct {
	waits   []byte
	batch   []byte // is being written, up to done
	done    int
	writing bool
	stuck   bool // the socket takes no more of batch now: the writer's turn
	active  bool // something was written since the last tick
}

// take begins to write what waits; nil if there is nothing or somebody is writing.
func (o *outbox) take() []byte {
	if len(o.waits) == 0 || o.writing {
		return nil
	}
	o.waits, o.batch = o.batch[:0], o.waits
	o.writing, o.active, o.done = true, true, 0
	return o.batch
}

// wrote notes how much of the batch was written.
func (o *outbox) wrote(n int) {
	o.done += n
	o.stuck = o.done < len(o.batch)
	o.writing = o.stuck
}

// resume is take for the writer, which goes on where Flush got stuck.
func (o *outbox) resume() []byte {
	if !o.stuck {
		return o.take()
	}
	o.stuck = false
	return o.batch[o.done:]
}

// Flush sends what Send and Accept have buffered. It does not wait: what the
// socket does not take at once goes to the writing goroutine. Not needed in
// callbacks: what they send goes when the burst that called them is over.
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

// wrote ends a write, or leaves the rest of it and what came since to the writer.
func (c *Conn) wrote(n int) {
	c.sentBytes.Add(int64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.wrote(n)
	c.poke()
}

// write is the writing goroutine. It takes what Flush cannot write at once, and
// keeps the connection alive. Whatever was buffered while one write was under
// way goes with the next.
func (c *Conn) write() {
	defer func() { _ = c.net.Close() }() // everything that mattered was written
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
			for c.writeBatch(lastWrite) { // the answer to the broker's close, if there is one
			}
			return
		}
		c.writeBatch(c.opt.IdleTimeout)
	}
}

// writeBatch writes what waits, and reports whether there was something and it went.
func (c *Conn) writeBatch(most time.Duration) bool {
	c.mu.Lock()
	batch := c.out.resume()
	c.mu.Unlock()
	if batch == nil {
		return false
	}
	_ = c.net.SetWriteDeadline(time.Now().Add(most)) // fails only where the write does
	_, err := c.net.Write(batch)
	if err != nil {
		c.fail(fmt.Errorf("cannot write to the broker: %w", err))
	}
	_ = c.net.SetWriteDeadline(time.Time{}) // Flush does not wait
	c.wrote(len(batch))
	return err == nil
}

var errSilent = errors.New("the broker is silent")

// tick sends a heartbeat when nothing was written since the last tick, and gives
// the broker up after the idle timeout.
func (c *Conn) tick(silent time.Duration) {
	if silent >= c.opt.IdleTimeout {
		c.fail(fmt.Errorf("%w: no byte for %v", errSilent, c.opt.IdleTimeout))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.out.active && c.peer.IdleTimeout > 0 {
		at := len(c.out.waits)
		c.out.waits = closeFrame(openFrame(c.out.waits, frameAMQP, 0), at)
	}
	c.out.active = false
}

// beat is the time between ticks: a quarter of the shorter idle timeout, so that
// the broker waits at most for two of them, half of what it allows. Not below
// 10 ms, whatever it asks for.
func (c *Conn) beat() time.Duration {
	every := c.opt.IdleTimeout
	if theirs := c.peer.IdleTimeout; theirs > 0 {
		every = min(every, theirs)
	}
	return max(every/4, 10*time.Millisecond)
}
