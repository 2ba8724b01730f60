//go:build !linux

package engine

import "github.com/taktload/takt/pkg/takt"

// canLoop: the loop mode is for Linux.
func canLoop(*takt.Loop) bool { return false }

func loopCount(Options, *takt.Loop) int { return 0 }

func newLoops(*flow, World, *takt.Loop, Options) mode { return nil }
