package outfile

import (
	"errors"
	"os"
)

// SyncFolder makes the names of a folder durable, such as one that a rename gave to a file.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
