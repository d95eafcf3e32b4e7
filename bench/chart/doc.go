// Package chart draws rows of results: a bar chart for each benchmark as an SVG, and
// a page that holds all of them and their figures and needs no network.
package chart
