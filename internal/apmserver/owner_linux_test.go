package apmserver

import "testing"

func TestAlive(t *testing.T) {
	mine := self()
	if !alive(mine) || alive(mine+"0") || alive("") || alive(namespace()+" 99999999 1") || !alive("pid:[1] 2 3") {
		t.Error(mine)
	}
}
