// Package tour is the command tour: two jobs done in three ways, and calls on lanes.
package tour
