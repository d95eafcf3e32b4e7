module github.com/lanewright/lanewright/bench

go 1.26.0

replace github.com/lanewright/lanewright => ../
