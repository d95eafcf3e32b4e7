// Package chart draws rows of results: a bar chart for each benchmark as an SVG, and a page
// with all charts and figures, which needs no network. Terms are defined in
// docs/GLOSSARY.md.
package chart
