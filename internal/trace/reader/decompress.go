package reader

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
)

// maxZstdWindow is the window of zstd --long=27, the largest that zstd reads without a flag.
const maxZstdWindow = 128 << 20

// decompress detects compression by the first bytes of r. stop frees the decompressor.
func decompress(r io.Reader) (in *bufio.Reader, stop func(), err error) {
	in, stop = buffered(medium{r}), func() {}
	magic, err := in.Peek(1)
	if err == nil && bytes.IndexByte([]byte{0x1f, 0x28, 'B'}, magic[0]) >= 0 {
		magic, err = in.Peek(4) // not for every text: it may be shorter, or its writer slow
	}
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	var inner io.Reader
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		inner, err = gzip.NewReader(in)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var z *zstd.Decoder
		z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err == nil {
			inner, stop = z, z.Close
		}
	case bytes.HasPrefix(magic, []byte("BZh")):
		inner = bzip2.NewReader(in)
	default:
		return in, stop, nil
	}
	if err != nil {
		return nil, nil, err
	}
	in = buffered(damageable{inner})
	if _, err := in.Peek(1); errors.Is(err, files.ErrUTF16) { // every other error may have a beginning before it
		stop()
		return nil, nil, err
	}
	return in, stop, nil
}

// buffered is the only place at which a log loses its byte order mark.
func buffered(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(files.Text(r), trace.MaxLine) }

// medium marks errors of reading, to tell them from errors in the content.
type medium struct{ r io.Reader }

func (m medium) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && err != io.EOF {
		err = formats.ReadError{Err: err}
	}
	return n, err
}

// damageable turns every error of decompression into errDamaged, which counts as one bad
// line: the lines before it are good, and other files may be.
type damageable struct{ r io.Reader }

func (d damageable) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF && !formats.IsReadError(err) {
		err = errDamaged
	}
	return n, err
}
