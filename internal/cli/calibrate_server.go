package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// startTime bounds how long the server may take to come up.
const startTime = 10 * time.Second

var errNoSelf = errors.New("cannot start the server: takt does not know its own program")

// server is takt target in a process of its own: that is how loads meet servers,
// and a thread that shared the Go scheduler with the generator would disturb it.
type server struct {
	cmd *exec.Cmd
	url string
}

// startServer starts takt target with these flags. It gets no environment: TAKT_… is for loads.
func startServer(env Env, flags ...string) (*server, error) {
	if env.Executable == nil {
		return nil, errNoSelf
	}
	path, err := env.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSelf, err)
	}
	args := append([]string{"takt", "target", "--addr", "127.0.0.1:0"}, flags...)
	s := &server{cmd: &exec.Cmd{Path: path, Args: args, Env: []string{}}}
	dieWithParent(s.cmd)
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

// await reads where the server listens.
func (s *server) await(said io.Reader) error {
	late := time.AfterFunc(startTime, func() { _ = s.cmd.Process.Kill() }) // fails only when it has ended
	defer late.Stop()
	line, _ := bufio.NewReader(said).ReadString('\n') // without a URL in it the line says why
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "takt target: ")
	if !ok {
		return fmt.Errorf("takt target said %q instead of where it listens; try takt target by hand", line)
	}
	s.url = url
	return nil
}

// end asks the server to end, and waits: it writes down what it did.
func (s *server) end() {
	_ = s.cmd.Process.Signal(os.Interrupt) // fails only when it has ended
	_ = s.cmd.Wait()                       // "exit code 130"
}

// stop ends the server at once: it has nothing to say at its end.
func (s *server) stop() {
	_ = s.cmd.Process.Kill() // fails only when it has ended
	_ = s.cmd.Wait()         // "killed"
}
