// Package docker holds the Dockerfile of apm-server, which is part of the binary: takt
// builds images where its source is not.
package docker

import _ "embed"

//go:embed apm-server/Dockerfile
var apmServer string

// APMServer is the Dockerfile that takt builds apm-server with. Its arguments are
// repository, a git URL; remote, the name that it gets; ref, a commit; and make, the
// command that builds it.
func APMServer() string { return apmServer }
