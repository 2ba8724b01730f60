//go:build !unix

package files

// doNotWait is nothing: folders have no pipes here.
const doNotWait = 0
