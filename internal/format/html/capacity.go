package html

import (
	"io"

	"github.com/taktload/takt/pkg/takt"
)

func writeCapacity(w io.Writer, r *takt.Report) error { return heading(r).write(w, r) }
