package properties

import (
	"io/fs"
	"runtime"
	"unicode/utf16"
)

// isOpen reports whether every user of this machine can read the file. Pipes are not files, and
// Windows has no such modes.
func isOpen(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
}

func decodeUTF16(units []uint16) string { return string(utf16.Decode(units)) }
