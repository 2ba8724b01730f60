package amqp

import "io"

// inbox is the buffer between the socket and the frames. It begins small, since
// there may be thousands of connections, and grows with what arrives at once.
type inbox struct {
	from    io.Reader
	max     uint32 // bytes of a frame
	b       []byte
	at, end int // what was read and not taken: b[at:end]
}

const (
	firstInbox = 8 << 10
	mostInbox  = 256 << 10 // unless a frame needs more
)

// fill reads once, behind what is there, with room for need bytes in all. It tells
// how many bytes came.
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
		in.grow(2 * len(in.b)) // more was there than it could hold
	}
	if n > 0 {
		return n, nil // an error comes again
	}
	return 0, err
}

func (in *inbox) grow(size int) {
	b := make([]byte, size)
	copy(b, in.b[:in.end])
	in.b = b
}

// frame takes the next frame that is there whole. Without one it tells by need
// how many bytes that wants.
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

// wait takes the next frame, however long that takes to come.
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

// header takes a protocol header, or the first bytes of what is none: an alert of TLS is
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
