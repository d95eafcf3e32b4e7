// Package tour is the command tour: a sort and a hash of a tree, each done in
// three ways, and calls on lanes.
package tour
