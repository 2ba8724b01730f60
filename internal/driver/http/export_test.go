package http

// KeepTargets lets tests stream a small file.
func (o *Options) KeepTargets(bytes int) { o.keep = bytes }
