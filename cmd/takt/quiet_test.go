package main

import (
	"bytes"
	"io"
	"net"
	"os/exec"
	"testing"
)

// A server that sends more than its answers writes nothing into the user's terminal: the log of net/http, which
// has the first bytes of them, a line for each connection, goes nowhere.
func TestLibrariesAreQuiet(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := c.Read(make([]byte, 4096)); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokMORE THAN WAS ASKED FOR")
					_, _ = io.Copy(io.Discard, c) // until takt closes it
				}
			}()
		}
	}()
	var said bytes.Buffer
	cmd := exec.Command("takt", "http", "-n", "5", "-c", "1", "--client", "net", "--no-store", "--progress", "none", "http://"+l.Addr().String()) // testscript has put this binary into PATH
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil || bytes.Contains(said.Bytes(), []byte("MORE THAN WAS ASKED FOR")) {
		t.Errorf("%v, %s", err, said.Bytes())
	}
}
