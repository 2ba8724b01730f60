package core

import (
	"io"
	"os"

	"golang.org/x/term"
)

// GuardCommand is the hidden command of the process that restores the terminal after a crash.
const GuardCommand = "tty-guard"

// Terminal returns standard error if it is a terminal; nil: it is not.
func Terminal(env Env) *os.File {
	f, ok := env.Stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// colourful reports whether w is a terminal whose user did not switch colours off.
func colourful(env Env, w io.Writer) bool {
	return IsTerminal(w) && env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb" && env.Getenv("CI") == ""
}

// IsTerminal reports whether a stream of the process is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Colours reports whether stdout is a terminal whose user did not switch colours off.
func Colours(env Env) bool { return colourful(env, env.Stdout) }

// ErrorColours is Colours for standard error.
func ErrorColours(env Env) bool { return colourful(env, env.Stderr) }

// ShowsStdout reports whether standard output is a terminal.
func ShowsStdout(env Env) bool { return IsTerminal(env.Stdout) }
