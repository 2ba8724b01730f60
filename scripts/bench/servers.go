package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// server is the server under load.
type server struct {
	name string
	pin  string
	url  string // for Kafka host:port
	libs string // folder of Kafka's libraries, or of Artemis
	pid  int    // process whose CPU is measured, too; 0: none
	fill func(server) error
	stop func()
}

// start starts the server: takt target --null, or a server of scripts/servers.
func (s server) start() (server, error) {
	switch s.name {
	case "nginx":
		return s.startNginx()
	case "kafka":
		return s.startKafka()
	case "artemis":
		return s.startArtemis()
	}
	args := append(s.taskset(), taktBinary, "target", "--null", "--addr", "127.0.0.1:0")
	cmd := exec.Command(args[0], args[1:]...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	s.stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // ends with exit code 130
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		s.stop()
		return s, fmt.Errorf("the null server did not start: %w", err)
	}
	s.url = strings.TrimSpace(line[strings.Index(line, "http"):]) + "/"
	return s, nil
}

func (s server) taskset() []string {
	if s.pin == "" {
		return nil
	}
	return []string{"taskset", "-c", s.pin}
}

func (s server) startNginx() (server, error) {
	args := append(s.taskset(), "scripts/servers", "--yes", "start", "nginx")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	s.url = strings.TrimSpace(string(out)) + "/"
	s.stop = func() { _ = exec.Command("scripts/servers", "stop", "nginx").Run() }
	return s, nil
}

// cpu is the CPU time of the server so far; 0: it is not measured.
func (s server) cpu() time.Duration {
	if s.pid == 0 {
		return 0
	}
	m, _ := momentOf(s.pid) // a server that ended fails the run itself
	return m.cpu
}

// addr is host:port.
func (s server) addr() string { return strings.Trim(strings.TrimPrefix(s.url, "http://"), "/") }
