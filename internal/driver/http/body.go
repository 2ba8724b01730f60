package http

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
)

// maxBody bounds a body, which is held in memory.
const maxBody = 256 << 20

// durationText matches the -d 30s of wrk, wrk2, fortio and k6.
var durationText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(ms|s|m|h)$`) })

// readBody reads the body of all requests.
func (o *Options) readBody() error {
	o.body = []byte(o.Body)
	if file, ok := strings.CutPrefix(o.Body, "@"); ok {
		return value.Faultf("-d %.60q would send these characters, not what is in the file; give -D %.60s for the file, also to send a text that begins with @", o.Body, cmp.Or(file, "FILE"))
	}
	if strings.EqualFold(o.Method, "GET") && durationText().MatchString(o.Body) {
		return value.Faultf("-d %.60q is the body of a GET; write -z %.60s for the duration, or -m POST if a body is meant", o.Body, o.Body)
	}
	if o.BodyFile == "" {
		return nil
	}
	if o.Body != "" {
		return value.Faultf("both -d and -D are given; keep one, the body is either the argument or the file")
	}
	var err error
	if o.BodyFile == stdin {
		o.body, err = readAtMost("stdin", o.standardInput(), 0, maxBody)
	} else {
		o.body, err = readFile(o.BodyFile, maxBody)
	}
	if err != nil {
		return value.Faultf("cannot read the body: %w; check -D", err)
	}
	return nil
}

// templateBody is the body as far as placeholders count in it.
func (o *Options) templateBody() string {
	if o.BodyFile != "" && !o.BodyTemplate {
		return ""
	}
	return string(o.body)
}

// readFile reads a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) { return readOpened(path, limit, files.Open) }

// readOpened is readFile of what open opens.
func readOpened(path string, limit int64, open func(string) (*os.File, error)) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0) // not known, as of a pipe
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	return readAtMost(path, f, size, limit)
}

// readAtMost reads all of r, about size bytes, but not more than limit.
func readAtMost(name string, r io.Reader, size, limit int64) ([]byte, error) {
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

func (o *Options) standardInput() io.Reader {
	if o.Stdin == nil {
		return bytes.NewReader(nil)
	}
	return o.Stdin
}
