package formats

import (
	"bufio"
	"bytes"
	"errors"
)

// ErrLongLine is the fault of a line that is longer than trace.MaxLine, which is the buffer of its reader.
var ErrLongLine = errors.New("longer than 256 KiB")

// CutLine returns the next line without its line end, valid until the next read of in; a last line may come with
// io.EOF. A long line is read to its end, and is not returned: its beginning is overwritten.
func CutLine(in *bufio.Reader) (line []byte, long bool, err error) {
	line, err = in.ReadSlice('\n')
	for err == bufio.ErrBufferFull {
		long = true
		_, err = in.ReadSlice('\n')
	}
	if long {
		return nil, true, err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), false, err
}
