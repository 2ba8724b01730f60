package trial

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// What a program of Go has of its build: this text at a multiple of 16 bytes, then at byte 32 the version of Go and the
// modules, each behind its length as a varint (cmd/link, buildinfo.go). The modules lie between two marks of 16 bytes.
// debug/buildinfo reads it, too, with readers of four formats of programs: 0.4 MiB of takt's binary.
const (
	buildMark   = "\xff Go buildinf:"
	buildHead   = 32
	moduleMarks = 16
	longestInfo = 1 << 20 // bytes
)

// moduleVersion is the version of the main module of a program of Go, without its v; "": it is not known.
func moduleVersion(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	at := findMark(f)
	if at < 0 {
		return ""
	}
	text := make([]byte, longestInfo)
	n, _ := f.ReadAt(text, at+buildHead) // as much of it as there is
	_, text = cutCounted(text[:n])
	modules, _ := cutCounted(text)
	if len(modules) < 2*moduleMarks {
		return ""
	}
	info, err := debug.ParseBuildInfo(string(modules[moduleMarks : len(modules)-moduleMarks]))
	if err != nil || info.Main.Version == "(devel)" {
		return ""
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// findMark is where buildMark begins in a program; negative: nowhere.
func findMark(r io.Reader) int64 {
	const part = 1 << 20
	block := make([]byte, part)
	for begin := int64(0); ; begin += part {
		n, err := io.ReadFull(r, block)
		for from := 0; ; {
			i := bytes.Index(block[from:n], []byte(buildMark))
			if i < 0 {
				break
			}
			if from += i; from%16 == 0 {
				return begin + int64(from)
			}
			from++
		}
		if err != nil {
			return -1
		}
	}
}

// cutCounted cuts a text with its length before it; empty: it is not there.
func cutCounted(b []byte) (text, rest []byte) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil
	}
	b = b[size:]
	return b[:n], b[n:]
}
