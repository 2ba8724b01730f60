package calibratecmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/core"
)

// startTime limits how long the server may take to start.
const startTime = 10 * time.Second

var errNoSelf = errors.New("cannot start the server: takt does not know its own program")

// server is takt target in a separate process, like a real server. In the same process, it
// would share the Go scheduler with the generator and disturb it.
type server struct {
	cmd *exec.Cmd
	URL string
}

// StartServer starts takt target with these flags, and with an empty environment: the user's
// TAKT_… variables are not for it.
func StartServer(env core.Env, flags ...string) (*server, error) {
	if env.Executable == nil {
		return nil, errNoSelf
	}
	path, err := env.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSelf, err)
	}
	args := append([]string{"takt", "target", "--addr", "127.0.0.1:0"}, flags...)
	s := &server{cmd: &exec.Cmd{Path: path, Args: args, Env: []string{}}}
	core.DieWithParent(s.cmd)
	said, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start takt target: %w", err)
	}
	if err := s.await(said); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// await reads the server's URL from its first line.
func (s *server) await(said io.Reader) error {
	late := time.AfterFunc(startTime, func() { _ = s.cmd.Process.Kill() }) // fails only if the server has ended
	defer late.Stop()
	line, _ := bufio.NewReader(said).ReadString('\n') // without a URL, the line says why
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "takt target: ")
	if !ok {
		return fmt.Errorf("takt target printed %q instead of its address; try takt target by hand", line)
	}
	s.URL = url
	return nil
}

// End interrupts the server and waits, because the server writes its --truth file at its end.
func (s *server) End() {
	_ = s.cmd.Process.Signal(os.Interrupt) // fails only if the server has ended
	_ = s.cmd.Wait()                       // "exit code 130"
}

// stop kills the server: it writes nothing at its end that anybody needs.
func (s *server) stop() {
	_ = s.cmd.Process.Kill() // fails only if the server has ended
	_ = s.cmd.Wait()         // "killed"
}
