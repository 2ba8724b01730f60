package httpreq

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/taktload/takt/internal/files"
)

// MaxBody bounds a body, which is held in memory.
const MaxBody = 256 << 20

// ReadFile reads a file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) { return ReadOpened(path, limit, files.Open) }

// ReadOpened is readFile of what open opens.
func ReadOpened(path string, limit int64, open func(string) (*os.File, error)) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0) // not known, as of a pipe
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	return ReadAtMost(path, f, size, limit)
}

// ReadAtMost reads all of r, about size bytes, but not more than limit.
func ReadAtMost(name string, r io.Reader, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if size <= limit {
		b.Grow(int(size) + bytes.MinRead) // with room to see the end, for which it would double
		size, err = b.ReadFrom(io.LimitReader(r, limit+1))
	}
	if size > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes, the most that is held in memory", name, limit)
	}
	return b.Bytes(), err
}
