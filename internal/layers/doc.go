// Package layers is the test that imports only point down.
package layers
