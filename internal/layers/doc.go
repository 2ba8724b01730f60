// Package layers tests that packages import only lower layers.
package layers
