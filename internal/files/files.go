// Package files opens the files that a person, or another file, named. A process that runs a command
// of somebody else confines itself to one folder: then no name opens anything outside of the folder,
// wherever the name is from.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Refusals of a confined process.
var (
	ErrOutside = errors.New("a session can use only files in the server's folder for sessions; give a name without .. and a leading /")
	ErrLink    = errors.New("a link leads out of the server's folder for sessions; give another name")
	ErrSpecial = errors.New("it is a pipe or a device, which takt would wait for; give the name of a file")

	// Of a shard:
	ErrNotHere  = errors.New("a shard reads only files in the folder in which it was started, and those that its own variables TAKT_… name; start takt shard in the folder with the file")
	ErrLinkAway = errors.New("a link leads out of the folder in which the shard was started; start takt shard in a folder with the file itself")
)

// confined is the folder of this process; nil: names are opened as package os does. Like a root
// directory it belongs to the process, so code that forgets to ask for it is confined, too.
var confined atomic.Pointer[folder]

// folder is what a confined process can open.
type folder struct {
	root          *os.Root
	path          string // a name that begins with it is inside; "": each name with a leading / is outside
	escape        error  // of a name that leaves root
	outside, link error  // refusals
	tell          func(error)
	mu            sync.Mutex
	extra         map[string]bool
}

// Confine confines this process to the files below dir, until free. Relative names begin at dir. tell gets
// each Refusal; nil: nobody does. A process confines itself once, before it reads what others wrote; only
// tests call free.
func Confine(dir string, tell func(error)) (free func(), err error) {
	return confineTo(dir, &folder{tell: tell, outside: ErrOutside, link: ErrLink})
}

// ConfineShard is Confine to the folder of this process, which its owner chose: names may begin with its path.
func ConfineShard() (free func(), err error) {
	path, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return confineTo(path, &folder{path: path, outside: ErrNotHere, link: ErrLinkAway})
}

func confineTo(dir string, f *folder) (free func(), err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f.root, f.extra = root, map[string]bool{}
	var e *fs.PathError
	if _, err := root.Lstat(".."); errors.As(err, &e) {
		f.escape = e.Err // package os does not export it
	}
	if f.escape == nil || !confined.CompareAndSwap(nil, f) {
		return nil, errors.Join(errors.New("this process cannot be confined to a folder, or is so already"), root.Close())
	}
	return func() { confined.Store(nil); _ = root.Close() }, nil
}

// Trust lets a confined process open this one name, too: the owner of the process gave it. A relative name
// is one of the folder.
func Trust(name string) {
	if f := confined.Load(); f != nil && !filepath.IsLocal(name) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.extra[name] = true
	}
}

// within is the folder that confines a name, and the name in it; nil: nothing does.
func within(name string) (*folder, string) {
	f := confined.Load()
	if f == nil {
		return nil, name
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.extra[name] {
		return nil, name
	}
	if f.path != "" && filepath.IsAbs(name) {
		if in, err := filepath.Rel(f.path, name); err == nil && filepath.IsLocal(in) {
			return f, in
		}
	}
	return f, name
}

// IsConfined reports whether this process opens a name only below its folder.
func IsConfined(name string) bool {
	f, _ := within(name)
	return f != nil
}

// Getenv is a variable of the environment, for a file or a flag that asks for it. A confined process reads none: what it
// does is another person's than its environment, which may have secrets.
func Getenv(name string) (string, error) {
	if confined.Load() != nil {
		return "", fmt.Errorf("a shard and a session of takt server do not read the variable %s of their environment; write its value into a file in the folder", name)
	}
	value, is := os.LookupEnv(name)
	if !is {
		return "", fmt.Errorf("the environment has no variable %s; set it, as in %[1]s=VALUE takt …", name)
	}
	return value, nil
}

// refused is the error of a name, with what to do about it if the folder does not contain the name.
func (f *folder) refused(name string, err error) error {
	var e *fs.PathError
	var two *os.LinkError
	switch {
	case err == nil:
		return nil
	case name == "":
		err = fs.ErrNotExist // as of package os
	case !filepath.IsLocal(name):
		err = f.outside
	case errors.Is(err, f.escape):
		err = f.link
	case errors.As(err, &e):
		err = e.Err
	case errors.As(err, &two):
		err = two.Err
	}
	named := &fs.PathError{Op: "open", Path: name, Err: err}
	if f.tell != nil && Refusal(err) != nil {
		f.tell(Named(named))
	}
	return named
}

// until ends the wait for the other end of a pipe; nil: nothing does. It belongs to the process, as its signals do.
var until atomic.Pointer[context.Context]

// Until lets the end of ctx, by a signal, end the wait of Open for whoever writes to a named pipe. Only main calls it.
func Until(ctx context.Context) { until.Store(&ctx) }

// OpenOwn is Open for a file that takt's user chose, which a confined process opens anywhere.
func OpenOwn(name string) (*os.File, error) { return openAnywhere(name, os.O_RDONLY, 0) }

func openAnywhere(name string, flag int, perm fs.FileMode) (*os.File, error) {
	info, err := os.Stat(name)
	ctx := until.Load()
	if ctx == nil || flag != os.O_RDONLY || err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return os.OpenFile(name, flag, perm)
	}
	type result struct {
		*os.File
		error
	}
	opened := make(chan result, 1)
	go func() { // after a signal it ends with the process
		f, err := os.Open(name)
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		return r.File, r.error
	case <-(*ctx).Done():
		return nil, &fs.PathError{Op: "open", Path: name, Err: context.Cause(*ctx)}
	}
}

// Open is os.Open.
func Open(name string) (*os.File, error) { return OpenFile(name, os.O_RDONLY, 0) }

// OpenRegular is Open for a name in a file, such as a scenario, which may be a stranger's: it refuses a pipe, for which Open
// would wait, and a device.
func OpenRegular(name string) (*os.File, error) {
	file, err := OpenFile(name, os.O_RDONLY|doNotWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && isSpecial(info) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrSpecial}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// OpenFile is os.OpenFile. A confined process opens only files and folders: it does not wait for the
// other end of a pipe.
func OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, name := within(name)
	if f == nil {
		return openAnywhere(name, flag, perm)
	}
	file, err := f.root.OpenFile(name, flag|doNotWait, perm)
	if err != nil {
		if f.isSpecial(name) { // a pipe without a reader, a socket
			err = ErrSpecial
		}
		return nil, f.refused(name, err)
	}
	info, err := file.Stat() // of what was opened, whatever the name is now
	if err == nil && isSpecial(info) {
		err = ErrSpecial
	}
	if err != nil {
		return nil, errors.Join(f.refused(name, err), file.Close())
	}
	return file, nil
}

func isSpecial(info fs.FileInfo) bool { return !info.Mode().IsRegular() && !info.IsDir() }

func (f *folder) isSpecial(name string) bool {
	info, err := f.root.Stat(name)
	return err == nil && isSpecial(info)
}

// ReadFile is os.ReadFile, for a file of at most 16 MiB.
func ReadFile(name string) ([]byte, error) { return readWhole(name, Open) }

// ReadOwn is ReadFile for a file that takt's user chose, which a confined process reads anywhere.
func ReadOwn(name string) ([]byte, error) { return readWhole(name, OpenOwn) }

func readWhole(name string, open func(string) (*os.File, error)) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file, name, mostWhole)
}

// mostWhole is how much of a file ReadFile reads, in bytes: 16 MiB. Such files have keys, certificates and
// passwords.
const mostWhole = 16 << 20

// ReadAll is io.ReadAll, for a file of that name with at most so many bytes, whole MiB: a wrong name, such as
// /dev/zero, must not fill memory.
func ReadAll(r io.Reader, name string, most int) ([]byte, error) {
	var text []byte
	var err error
	long := isLonger(r, most)
	if !long {
		text, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	}
	if long || err == nil && len(text) > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d MiB; give the name of a smaller file", most>>20)}
	}
	return text, err
}

// isLonger reports whether r is a file that says itself that it has more than so many bytes: then nobody reads them first.
func isLonger(r io.Reader, most int) bool {
	f, ok := r.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Size() > int64(most)
}

// WriteFile is os.WriteFile.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	file, err := OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// ReadDir is os.ReadDir.
func ReadDir(name string) ([]os.DirEntry, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := file.ReadDir(-1)
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// Stat is os.Stat.
func Stat(name string) (fs.FileInfo, error) {
	f, name := within(name)
	if f == nil {
		return os.Stat(name)
	}
	info, err := f.root.Stat(name)
	return info, f.refused(name, err)
}

// Lstat is os.Lstat.
func Lstat(name string) (fs.FileInfo, error) {
	f, name := within(name)
	if f == nil {
		return os.Lstat(name)
	}
	info, err := f.root.Lstat(name)
	return info, f.refused(name, err)
}

// Readlink is os.Readlink.
func Readlink(name string) (string, error) {
	f, name := within(name)
	if f == nil {
		return os.Readlink(name)
	}
	to, err := f.root.Readlink(name)
	return to, f.refused(name, err)
}

// Remove is os.Remove.
func Remove(name string) error {
	f, name := within(name)
	if f == nil {
		return os.Remove(name)
	}
	return f.refused(name, f.root.Remove(name))
}

// Rename is os.Rename.
func Rename(from, to string) error {
	f, to := within(to)
	if f == nil {
		return os.Rename(from, to)
	}
	return f.refused(to, f.root.Rename(from, to))
}

// EvalSymlinks is filepath.EvalSymlinks. A confined process opens links, and does not say where they lead.
func EvalSymlinks(name string) (string, error) {
	f, name := within(name)
	if f == nil {
		return filepath.EvalSymlinks(name)
	}
	info, err := Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = &fs.PathError{Op: "open", Path: name, Err: f.link}
	}
	return name, err
}

// Check returns the error with which Open or OpenFile would refuse a name in a confined process. A file
// that does not exist is not a fault, and a socket is none, which takt connects to.
func Check(name string) error {
	f, name := within(name)
	if f == nil {
		return nil
	}
	info, err := f.root.Stat(name)
	if err == nil && isSpecial(info) && info.Mode().Type() != fs.ModeSocket {
		err = ErrSpecial
	}
	return Refusal(f.refused(name, err))
}

// Named returns the refusal of a confined process that is in err, with the name of the file if err has it; nil: none.
func Named(err error) error {
	refusal := Refusal(err)
	var e *fs.PathError
	if refusal == nil || !errors.As(err, &e) {
		return refusal
	}
	return fmt.Errorf("%s: %w", e.Path, refusal)
}

// Refusal returns the refusal of a confined process that is in err; nil: none.
func Refusal(err error) error {
	for _, refusal := range []error{ErrOutside, ErrLink, ErrSpecial, ErrNotHere, ErrLinkAway} {
		if errors.Is(err, refusal) {
			return refusal
		}
	}
	return nil
}
