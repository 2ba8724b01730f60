package core

import (
	"strings"
	"sync"

	"github.com/taktload/takt/internal/format"
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
	if p == nil || path == format.Stdout || path == stderrPath || !format.Replaceable(path) {
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

// fail writes the error to all files that are still promised.
func (p *Promises) fail(command, why string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.open {
		format.FailFile(one.path, one.format, command, why)
	}
	p.open = nil
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
