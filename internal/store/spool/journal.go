package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/taktload/takt/internal/outfile"
)

// A journal is a file of records, each with its length and its checksum, behind a line that
// says what it is. The first record is its head. Who writes it holds a lock.
const (
	journalFile = ".journal"
	journalMark = "takt journal\n"
	frameHead   = 8 // bytes before a record: length and CRC-32C of what follows, little endian
)

// maxRecord bounds a record: a report has 64 MiB at most, too.
const maxRecord = 64 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Journal is a journal that is being written. It is not safe for concurrent use.
type Journal struct {
	spool *Spool
	path  string
	head  []byte
	f     *os.File
	size  int64 // of the whole records
}

// Begin makes the journal of the run with that id. Once it returns, the head survives a
// power failure.
func (s *Spool) Begin(id string, head []byte) (*Journal, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{spool: s, path: s.file(id, journalFile), head: head}
	if err := j.Replace(); err != nil {
		return nil, err
	}
	return j, nil
}

// Append writes one record, which is not empty, behind the others. After an error the
// journal is as before.
func (j *Journal) Append(record []byte) error {
	if len(record) == 0 || len(record) > maxRecord {
		return fmt.Errorf("a record of a journal has 1 byte to %d MiB, and this one %d bytes", maxRecord>>20, len(record))
	}
	framed := frame(nil, record)
	if _, err := j.f.WriteAt(framed, j.size); err != nil {
		return errors.Join(err, j.f.Truncate(j.size))
	}
	j.size += int64(len(framed))
	return nil
}

// Replace writes the records in the place of all that are there, but for the head. After an
// error, or a crash, the journal is as before.
func (j *Journal) Replace(records ...[]byte) error {
	text := frame([]byte(journalMark), j.head)
	for _, r := range records {
		text = frame(text, r)
	}
	f, err := outfile.Unfinished(j.spool.dir)
	if err != nil {
		return err
	}
	err = lock(f) // again, for the error: without locks nobody could tell whose journal is left
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), j.path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if j.f != nil {
		_ = j.f.Close() // nobody will read it
	}
	j.f, j.size = f, int64(len(text))
	return outfile.SyncFolder(j.spool.dir)
}

// Sync makes all records survive a power failure.
func (j *Journal) Sync() error { return j.f.Sync() }

// Size is how many bytes the journal has.
func (j *Journal) Size() int64 { return j.size }

// Close leaves the journal to whoever finds it.
func (j *Journal) Close() error { return j.f.Close() }

// Remove ends the journal.
func (j *Journal) Remove() error { return errors.Join(os.Remove(j.path), j.f.Close()) }

// frame appends a record with its length and checksum.
func frame(to, record []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(len(record)))
	to = binary.LittleEndian.AppendUint32(to, crc32.Checksum(record, castagnoli))
	return append(to, record...)
}
