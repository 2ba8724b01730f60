package main

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdType is "type SOCKET FILE": send the file to a shell at a unix socket, end the input, and print
// the whole answer. It waits for a server that is just starting.
func cmdType(ts *testscript.TestScript, _ bool, args []string) {
	var conn net.Conn
	var err error
	for end := time.Now().Add(patience); ; {
		if conn, err = net.Dial("unix", ts.MkAbs(args[0])); err == nil || time.Now().After(end) {
			break
		}
	}
	ts.Check(err)
	defer conn.Close()
	_, err = io.WriteString(conn, ts.ReadFile(args[1]))
	ts.Check(err)
	ts.Check(conn.(*net.UnixConn).CloseWrite())
	text, err := io.ReadAll(conn)
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), string(text))
}
