package trace

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxLine limits a line, in bytes; a longer line is bad. It is also the size of a file's
// buffer; a compressed file has two.
const maxLine = 256 << 10

// maxZstdWindow is the window of zstd --long=27, the largest that zstd reads without a flag.
const maxZstdWindow = 128 << 20

var (
	errLongLine = errors.New("longer than 256 KiB")
	errDamaged  = errors.New("the compressed file is cut short or damaged: nothing behind this line can be read")
)

// decompress detects compression by the first bytes of r. stop frees the decompressor.
func decompress(r io.Reader) (in *bufio.Reader, stop func(), err error) {
	in, stop = bufio.NewReaderSize(medium{r}, maxLine), func() {}
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
	return bufio.NewReaderSize(damageable{inner}, maxLine), stop, nil
}

// medium marks errors of reading, to tell them from errors in the content.
type medium struct{ r io.Reader }

func (m medium) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && err != io.EOF {
		err = ReadError{err}
	}
	return n, err
}

// damageable turns every error of decompression into errDamaged, which counts as one bad
// line: the lines before it are good, and other files may be.
type damageable struct{ r io.Reader }

func (d damageable) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF && !IsReadError(err) {
		err = errDamaged
	}
	return n, err
}

// lines cuts a text into lines.
type lines struct {
	in    *bufio.Reader
	n     int    // number of the last line, from 1
	text  []byte // text of the last line
	ended bool
}

// Place is the number and the text of the last line.
func (l *lines) Place() (int, []byte) { return l.n, l.text }

// next returns the next line that is not blank, without its line end. The line is valid
// until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.cut()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

func (l *lines) cut() ([]byte, error) {
	l.text = nil
	if l.ended {
		return nil, io.EOF
	}
	line, err := l.in.ReadSlice('\n')
	l.n++
	long := err == bufio.ErrBufferFull
	for err == bufio.ErrBufferFull {
		_, err = l.in.ReadSlice('\n')
	}
	switch l.ended = err != nil; {
	case err != nil && err != io.EOF:
		return nil, err
	case long:
		return nil, errLongLine
	case err == io.EOF && len(line) == 0:
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // editors of Windows begin a file with it
	}
	l.text = line
	return line, nil
}

// lineDecoder is the decoder for all formats with one request per line.
type lineDecoder struct {
	lines
	parser Parser
	filler filler
	headed bool // see Format
}

func newLineDecoder(in *bufio.Reader, f Format, o Options, left *Left) (*lineDecoder, error) {
	p, err := f.Line(Hints{o.Fields, o.guessed, o.columns})
	if err != nil {
		return nil, err
	}
	return &lineDecoder{lines{in: in}, p, newFiller(o.Zone, o.NoTimes, left), f.Headed}, nil
}

// Next implements Decoder.
func (d *lineDecoder) Next(rec *Record) error {
	for {
		line, err := d.lines.next()
		if err != nil {
			return err
		}
		if d.headed {
			line = behindHead(line)
		}
		d.filler.begin(rec)
		if err := d.parser.Parse(line, &d.filler); err != errComment {
			return err
		}
	}
}
