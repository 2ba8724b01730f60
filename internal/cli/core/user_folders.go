package core

import (
	"cmp"
	"fmt"
	"path/filepath"
)

// homeDir is a user's folder for one kind of files, from the XDG Base Directory Specification.
type homeDir struct{ variable, fallback string }

var (
	CacheHome = homeDir{"XDG_CACHE_HOME", ".cache"}
	DataHome  = homeDir{"XDG_DATA_HOME", ".local/share"}
	StateHome = homeDir{"XDG_STATE_HOME", ".local/state"}
)

// Homes are all kinds.
func Homes() []homeDir { return []homeDir{CacheHome, DataHome, StateHome} }

// UnderHome is the path of takt's file name in d. The specification says to ignore a variable
// with a relative path. Windows names the home directory USERPROFILE.
func (e Env) UnderHome(d homeDir, name string) (string, error) {
	dir := e.Getenv(d.variable)
	if home := cmp.Or(e.Getenv("HOME"), e.Getenv("USERPROFILE")); !filepath.IsAbs(dir) && home != "" {
		dir = filepath.Join(home, d.fallback)
	}
	if !filepath.IsAbs(dir) {
		return "", &NoHomeError{d.variable}
	}
	return filepath.Join(dir, "takt", name), nil
}

// NoHomeError means that the user has no home directory.
type NoHomeError struct{ variable string }

// Error implements error.
func (e *NoHomeError) Error() string {
	return fmt.Sprintf("there is no home directory; set %s to a directory for it", e.variable)
}
