//go:build !unix

package outfile

import "io/fs"

// noFollow makes a link at the end of a path an error, where the system can do so.
const noFollow = 0

// noWait is nothing: folders have no pipes here.
const noWait = 0

// Follow returns the path as it is: only Unix has folders where everybody may write and nobody may delete.
func Follow(path string) (string, error) { return path, nil }

// IsShared reports no folder, for the same reason.
func IsShared(string) bool { return false }

// Replaceable returns nothing, for the same reason.
func Replaceable(string) string { return "" }

// FollowOwn is Follow.
func FollowOwn(path string) (string, error) { return path, nil }

// OwnerOf is not known here.
func OwnerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
