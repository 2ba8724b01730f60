package process

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// Guard is a small process that kills what a program of takt's has started, if takt itself is killed: the
// kernel then kills only the program, and not its children.
type Guard struct {
	cmd *exec.Cmd
	to  io.WriteCloser
}

// guardScript reads the number of the group and then a line when all is over. If takt dies, the second
// line never comes: the pipe is closed. A process may start another one while the script looks, so it
// looks again until nothing is left.
const guardScript = `
trap '' HUP INT QUIT TERM
read -r group
read -r over && exit
[ -z "$group" ] || kill -9 -- "-$group"
round=0
while [ "$((round += 1))" -le 200 ]; do
	found=$(grep -lsxzF -e "$1" /proc/[0-9]*/environ)
	[ -n "$found" ] || exit 0
	for file in $found; do
		pid=${file#/proc/}
		kill -9 "${pid%/environ}"
	done
	[ "$round" -lt 10 ] || sleep 0.05
done
` // grep ends with 2 if a process of another user cannot be read, so only its output counts

// NewGuard starts the guard of all processes that have the variable NAME=VALUE in their environment. It
// has a session of its own, so no signal to takt's group or terminal reaches it.
func NewGuard(variable string) (*Guard, error) {
	g := &Guard{cmd: exec.Command("sh", "-c", guardScript, "takt-guard", variable)}
	g.cmd.Dir = "/"
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if g.to, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start a shell, which kills the server if takt is killed: %w", err)
	}
	return g, nil
}

// Watch tells the guard the process group of the program.
func (g *Guard) Watch(group int) { _, _ = io.WriteString(g.to, strconv.Itoa(group)+"\n") }

// End ends the guard, which kills nothing.
func (g *Guard) End() {
	_, _ = io.WriteString(g.to, "\n\n") // the first line is the group, if Watch was not called
	g.to.Close()
	_ = g.cmd.Wait() // its end needs no check: it has nothing left to do
}
