package wire

import "io"

// Inbox is the buffer between the socket and the frames. It begins small, because there may
// be thousands of connections, and grows when much arrives at once.
type Inbox struct {
	From    io.Reader
	Max     uint32 // largest frame in bytes
	b       []byte
	At, End int // b[at:end] is read and not consumed
}

const (
	firstInbox = 8 << 10
	mostInbox  = 256 << 10 // unless a frame needs more
)

// Fill reads once and appends, with room for need bytes in all. It returns how many bytes
// came.
func (in *Inbox) Fill(need int) (int, error) {
	if in.At > 0 {
		in.End = copy(in.b, in.b[in.At:in.End])
		in.At = 0
	}
	if size := max(need, firstInbox); len(in.b) < size {
		in.grow(size)
	}
	n, err := in.From.Read(in.b[in.End:])
	in.End += n
	if in.End == len(in.b) && len(in.b) < mostInbox {
		in.grow(2 * len(in.b)) // the read filled the buffer: there may be more
	}
	if n > 0 {
		return n, nil // the next read returns an error again
	}
	return 0, err
}

func (in *Inbox) grow(size int) {
	b := make([]byte, size)
	copy(b, in.b[:in.End])
	in.b = b
}

// Frame consumes the next complete frame. Without one, need is the number of bytes for it.
func (in *Inbox) Frame() (f Frame, need int, err error) {
	f, n, err := readFrame(in.b[in.At:in.End], in.Max)
	switch {
	case err != nil:
		return Frame{}, 0, err
	case n == 0:
		return Frame{}, frameHead, nil
	case n > in.End-in.At:
		return Frame{}, n, nil
	}
	in.At += n
	return f, 0, nil
}

// Wait waits for the next frame and consumes it.
func (in *Inbox) Wait() (Frame, error) {
	for {
		f, need, err := in.Frame()
		if err != nil || need == 0 {
			return f, err
		}
		if _, err := in.Fill(need); err != nil {
			return Frame{}, err
		}
	}
}

// Header consumes a protocol header, or the first bytes of anything else: a TLS alert is
// shorter than a header.
func (in *Inbox) Header() (string, error) {
	for {
		got := string(in.b[in.At:min(in.End, in.At+ProtocolBytes)])
		if len(got) == ProtocolBytes || len(got) > 1 && !IsAMQP(got) {
			in.At += len(got)
			return got, nil
		}
		if _, err := in.Fill(ProtocolBytes); err != nil {
			return got, err
		}
	}
}
