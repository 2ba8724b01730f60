package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

// maxJournal bounds a journal that is read. Who writes one makes it shorter from 64 MiB on.
const maxJournal = 512 << 20

// readable describes the file of a journal, unless it cannot be one.
func readable(f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > maxJournal:
		return nil, fmt.Errorf("it has %d MiB, and no journal has more than %d", info.Size()>>20, maxJournal>>20)
	}
	return info, nil
}

// readMark reads what every journal begins with.
func readMark(r io.Reader) error {
	mark := make([]byte, len(journalMark))
	if _, err := io.ReadFull(r, mark); err != nil || string(mark) != journalMark {
		return errors.New("it is not a journal of takt")
	}
	return nil
}

// frameOf is the length and the checksum of the record behind the bytes head.
func frameOf(head []byte) (n int64, sum uint32, ok bool) {
	n, sum = int64(binary.LittleEndian.Uint32(head)), binary.LittleEndian.Uint32(head[4:])
	// The zeros that a power failure leaves would be empty records, with the right sum.
	return n, sum, n > 0 && n <= maxRecord
}

// readRecord reads a record of n bytes, and reports whether it is whole.
func readRecord(r io.Reader, n int64, sum uint32) ([]byte, bool) {
	record := make([]byte, n)
	if _, err := io.ReadFull(r, record); err != nil || crc32.Checksum(record, castagnoli) != sum {
		return nil, false
	}
	return record, true
}
