package core

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/value"
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
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colours reports whether stdout is a terminal whose user did not switch colours off.
func Colours(env Env) bool { return colourful(env, env.Stdout) }

// ErrorColours is Colours for standard error.
func ErrorColours(env Env) bool { return colourful(env, env.Stderr) }

// ShowsStdout reports whether standard output is a terminal.
func ShowsStdout(env Env) bool { return IsTerminal(env.Stdout) }

// CheckPage refuses a page of HTML on a terminal, which it would fill.
func CheckPage(env Env, name, path string) error {
	if name == "html" && path == format.Stdout && ShowsStdout(env) {
		return value.Faultf("-o html is a page for a browser, and standard output is a terminal; write a file with -o html=page.html, or leave -o out for text")
	}
	return nil
}
