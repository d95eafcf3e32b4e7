//go:build interleave

package mpsc_test
import ("testing";"time";"fmt";"github.com/lanewright/lanewright/interleave";"github.com/lanewright/lanewright/mpsc")
func TestZZ(t *testing.T){
 for _, p := range []int{4,5} { for _, sz := range [][2]int{{2,2}} {
  o:=interleave.Options{Preemptions:p, SleepSets:p<0, Budget:15*time.Second}
  s:=time.Now(); r:=interleave.Explore(o, queueModel(realOps(), mpsc.LIFO, sz[0], sz[1], 1)); fmt.Println("queue",sz,p,r.Executions,r.Pruned,r.Complete,r.Failure, time.Since(s))
 }
  for n,b := range map[string]func(*interleave.M){"list":listModel(realOps()),"seal":sealModel(realOps())} {
  o:=interleave.Options{Preemptions:p, SleepSets:p<0, Budget:15*time.Second}
  s:=time.Now(); r:=interleave.Explore(o, b); fmt.Println(n,p,r.Executions,r.Pruned,r.Complete,r.Failure, time.Since(s)) }
 }
}
