package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/process"
)

// Profile gets a CPU profile of so many seconds.
func (s *Server) Profile(ctx context.Context, page string, seconds int) ([]byte, error) {
	u, err := url.Parse(s.WithPort(page))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+profileTime)
	defer cancel()
	query := u.Query()
	query.Set("seconds", strconv.Itoa(seconds))
	u.RawQuery = query.Encode()
	return pageOf(ctx, u.String())
}

// profileTime is how long a server or a command may take besides the time of a profile. Only tests set it.
var profileTime = 30 * time.Second

// Marks in a command that takes a profile, besides PortMark.
const (
	PidMark     = "{{.Pid}}"     // the process that accepts the server's connections, or else the one of --run
	SecondsMark = "{{.Seconds}}" // how long the profile lasts, a whole number
	FileMark    = "{{.File}}"    // the file that the command writes
)

// ProfileBy runs a command that takes a profile of so many seconds, and returns what it wrote. A command that has not
// ended 30 s after these seconds is killed, with all that it started.
func (s *Server) ProfileBy(ctx context.Context, command string, seconds int) ([]byte, error) {
	folder, err := os.MkdirTemp("", "takt-profile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file, log := filepath.Join(folder, "profile"), process.NewLog()
	marks := strings.NewReplacer(PidMark, strconv.Itoa(s.pid()), SecondsMark, strconv.Itoa(seconds), FileMark, file)
	cmd := exec.Command("sh", "-c", marks.Replace(s.WithPort(command)))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.options.Folder, s.environment(), log, log
	child, err := process.LaunchFenced(cmd, nil)
	if err != nil {
		return nil, err
	}
	defer child.Stop(0) // also what a command that has ended left behind
	limit := time.NewTimer(time.Duration(seconds)*time.Second + profileTime)
	defer limit.Stop()
	select {
	case <-ctx.Done():
		return nil, cmp.Or(context.Cause(ctx), ctx.Err())
	case <-limit.C:
		return nil, fmt.Errorf("the command of --profile had not ended %v after its %d s, so takt killed it%s", profileTime, seconds, lastLine(log))
	case <-child.Done():
	}
	if code := child.ExitCode(); code != 0 {
		return nil, fmt.Errorf("the command of --profile ended with %s%s", child.State(), lastLine(log))
	}
	text, err := written(file)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, lastLine(log))
	}
	return text, nil
}

// environment is that of the server's commands.
func (s *Server) environment() []string {
	return append(slices.Clone(s.options.Env), "PORT="+strconv.Itoa(s.Port))
}

// pid is the process that a profile is of. The command of --run may be a shell that started the server.
func (s *Server) pid() int { return cmp.Or(process.Listener(s.child.Pids(), s.Port), s.child.Pid()) }

// lastLine is the end of a command's output, for an error.
func lastLine(log *process.Log) string {
	for _, line := range slices.Backward(log.Tail(tailLines, "")) {
		if text := strings.TrimSpace(line.Text); text != "" {
			return "; its last line: " + text
		}
	}
	return ""
}

// written reads the file of a command. It may be anything: a pipe would never end.
func written(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	case err == nil && !info.Mode().IsRegular():
		return nil, errors.New("the command of --profile made no file of " + FileMark)
	case err != nil || info.Size() == 0:
		return nil, errors.New("the command of --profile wrote nothing to " + FileMark)
	case info.Size() > functions.MostProfile:
		return nil, fmt.Errorf("the command of --profile wrote %d MiB to %s, and takt reads %d MiB; take a shorter profile (-z), or fewer samples a second", info.Size()>>20, FileMark, functions.MostProfile>>20)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, functions.MostProfile))
}
