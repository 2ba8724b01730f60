//go:build !linux

package sock

// Available reports whether this system has what the package needs.
const Available = false
