package amqp

import "io"

// inbox is the buffer between the socket and the frames. It begins small, because there may
// be thousands of connections, and grows when much arrives at once.
type inbox struct {
	from    io.Reader
	max     uint32 // largest frame in bytes
	b       []byte
	at, end int // b[at:end] is read and not consumed
}

const (
	firstInbox = 8 << 10
	mostInbox  = 256 << 10 // unless a frame needs more
)

// fill reads once and appends, with room for need bytes in all. It returns how many bytes
// came.
func (in *inbox) fill(need int) (int, error) {
	if in.at > 0 {
		in.end = copy(in.b, in.b[in.at:in.end])
		in.at = 0
	}
	if size := max(need, firstInbox); len(in.b) < size {
		in.grow(size)
	}
	n, err := in.from.Read(in.b[in.end:])
	in.end += n
	if in.end == len(in.b) && len(in.b) < mostInbox {
		in.grow(2 * len(in.b)) // the read filled the buffer: there may be more
	}
	if n > 0 {
		return n, nil // the next read returns an error again
	}
	return 0, err
}

func (in *inbox) grow(size int) {
	b := make([]byte, size)
	copy(b, in.b[:in.end])
	in.b = b
}

// frame consumes the next complete frame. Without one, need is the number of bytes for it.
func (in *inbox) frame() (f frame, need int, err error) {
	f, n, err := readFrame(in.b[in.at:in.end], in.max)
	switch {
	case err != nil:
		return frame{}, 0, err
	case n == 0:
		return frame{}, frameHead, nil
	case n > in.end-in.at:
		return frame{}, n, nil
	}
	in.at += n
	return f, 0, nil
}

// wait waits for the next frame and consumes it.
func (in *inbox) wait() (frame, error) {
	for {
		f, need, err := in.frame()
		if err != nil || need == 0 {
			return f, err
		}
		if _, err := in.fill(need); err != nil {
			return frame{}, err
		}
	}
}

// header consumes a protocol header, or the first bytes of anything else: a TLS alert is
// shorter than a header.
func (in *inbox) header() (string, error) {
	for {
		got := string(in.b[in.at:min(in.end, in.at+protocolBytes)])
		if len(got) == protocolBytes || len(got) > 1 && !isAMQP(got) {
			in.at += len(got)
			return got, nil
		}
		if _, err := in.fill(protocolBytes); err != nil {
			return got, err
		}
	}
}
