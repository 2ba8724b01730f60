package format

import (
	"os"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/outfile"
)

// FailFile writes to a file that a command ended without what the file would contain. A file that cannot
// be written keeps its content: the error is on standard error, too.
func FailFile(path, name, command, why string) {
	f, err := outfile.Open(path)
	if err != nil {
		return
	}
	defer f.Discard()
	if Failure(f, name, command, why) == nil {
		_ = f.Close()
	}
}

// Replaceable reports whether there is a regular file at the path, or nothing. FailFile is for these:
// devices and pipes have no older content.
func Replaceable(path string) bool {
	info, err := files.Stat(path)
	return os.IsNotExist(err) || err == nil && info.Mode().IsRegular()
}

// Fail writes the error of a program to its files.
func (l Outputs) Fail(program string, err error) {
	l.Discard()
	for _, o := range l {
		if o.path != Stdout && Replaceable(o.path) {
			FailFile(o.path, o.format.Name, program, err.Error())
		}
	}
}
