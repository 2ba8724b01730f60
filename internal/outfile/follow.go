package outfile

import (
	"fmt"
	"os"

	"github.com/taktload/takt/internal/files"
)

// OpenFile is os.OpenFile for a file that takt writes: it follows links as Follow does. For files that are
// written in place, such as logs. It refuses a named pipe for writing alone, which would wait for its reader.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	to, err := Follow(path)
	if err != nil {
		return nil, err
	}
	in, err := folderOf(to)
	if err != nil {
		return nil, err
	}
	defer in.close()
	alone := flag&os.O_WRONLY != 0 && !IsOpen(to)
	if !alone {
		return in.open(to, flag, mode)
	}
	f, err := in.open(to, flag|noWait, mode)
	look := func() (os.FileInfo, error) { return in.lstat(to) }
	if err == nil {
		look = f.Stat // of what was opened, whatever the name is now
	}
	if info, bad := look(); bad == nil && info.Mode().Type() == os.ModeNamedPipe {
		_ = f.Close() // nothing was written, or it is not open
		return nil, &os.PathError{Op: "open", Path: path, Err: files.ErrSpecial}
	}
	return f, err
}

// folderOf is how the files beside a path that Follow returned are found. Nothing that other users do to the
// folders of the path after Follow leads elsewhere.
func folderOf(path string) (folders, error) {
	if files.IsConfined(path) || IsOpen(path) { // a confined process finds every file below its own folder
		return named(), nil
	}
	return pin(path)
}

// openPlain opens a path that Follow returned. A link that somebody made there since then is an error.
func openPlain(path string, flag int, mode os.FileMode) (*os.File, error) {
	if !IsOpen(path) {
		flag |= noFollow
	}
	return files.OpenFile(path, flag, mode)
}

// plantedError is a link that takt does not follow, or a file that it does not write.
type plantedError struct {
	path   string
	owner  int
	link   bool
	astray bool // it leads to what that user does not own
	twice  bool // it has another name
}

func (e *plantedError) Error() string {
	switch {
	case e.astray:
		return fmt.Sprintf("%s is a link that user %d made to what that user does not own, and takt does not follow it", e.path, e.owner)
	case e.link:
		return fmt.Sprintf("%s is a link that user %d made in a folder where everybody may write, and takt does not follow it", e.path, e.owner)
	case e.twice:
		return fmt.Sprintf("%s has another name (a hard link) in a folder where everybody may write, and takt does not write to it", e.path)
	}
	return fmt.Sprintf("%s is a file of user %d in a folder where everybody may write, and takt does not write to it", e.path, e.owner)
}
