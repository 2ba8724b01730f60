//go:build !unix

package outfile

import "os"

func linked(os.FileInfo) bool { return false }

func become(f *os.File, old os.FileInfo) error { return f.Chmod(old.Mode()) }
