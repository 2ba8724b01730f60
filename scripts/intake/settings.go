package main

import (
	"fmt"
	"os"
	"strings"
)

// settings reads -E NAME=VALUE; VALUE may contain ${VARIABLE}, and the last value of a name counts.
// -e is accepted and ignored: this server always logs to standard error.
func settings(args []string) (map[string]string, error) {
	all := map[string]string{"apm-server.host": "127.0.0.1:8200", "queue.mem.events": "4096"}
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-e":
		case args[i] == "-E" && i+1 < len(args):
			i++
			name, value, ok := strings.Cut(args[i], "=")
			if !ok {
				return nil, fmt.Errorf("-E %s: write NAME=VALUE", args[i])
			}
			all[name] = os.ExpandEnv(value)
		default:
			return nil, fmt.Errorf("unknown argument %s; use -E NAME=VALUE or -e", args[i])
		}
	}
	return all, nil
}
