package core

import (
	"os"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/outfile"
)

// Promises are the files that a command will write. If the command fails before that, each gets the
// error: in CI, a file of an earlier run would be read as the result. Only a wrong command line, exit
// code 2, leaves them as they are. The zero value and nil are empty.
type Promises struct {
	mu   sync.Mutex
	open []promise
}

type promise struct{ format, path string }

// Add promises a file. Standard streams, devices and pipes need no promise.
func (p *Promises) Add(name, path string) {
	if p == nil || path == format.Stdout || path == stderrPath || !replaceable(path) {
		return
	}
	p.Kept(path)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, promise{name, path})
}

// Kept forgets a promise: the file has its content.
func (p *Promises) Kept(path string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.open {
		if one.path == path {
			p.open = append(p.open[:i], p.open[i+1:]...)
			return
		}
	}
}

// fail writes the error to all files that are still promised. A file that cannot be written keeps its
// content: the error is on standard error, too.
func (p *Promises) fail(command, why string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.open {
		f, err := outfile.Open(one.path)
		if err != nil {
			continue
		}
		if format.Failure(f, one.format, command, why) == nil {
			_ = f.Close()
		}
		f.Discard()
	}
	p.open = nil
}

// replaceable reports whether there is a regular file at the path, or nothing.
func replaceable(path string) bool {
	info, err := os.Stat(path)
	return os.IsNotExist(err) || err == nil && info.Mode().IsRegular()
}

// commandOf names the command of a command line.
func commandOf(args []string) string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "takt"
	}
	if IsURL(args[0]) {
		return "takt http"
	}
	return "takt " + args[0]
}
