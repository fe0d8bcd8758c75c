#!/bin/sh
# Nine minutes on a GPU: `make gpu` on a machine with a driver, or `SEQSWEEP=seqsweep docs/machines/gpu.sh`.
#
# What would be missed most is measured first. When the time is up the step that runs is interrupted and keeps
# what it has; called again, each step goes on where it stopped. All is in one folder, `results/gpu`, whose
# runs are copied to results/reference to be kept. Ends with 1 where something is left to measure. MINUTES,
# DEVICE, BUDGET, TIMEOUT and RESULTS change what they say; installing, which `make` does before, is not in it.
set -u
seqsweep=${SEQSWEEP:-seqsweep} device=${DEVICE:-cuda} results=${RESULTS:-results/gpu}
budget=${BUDGET:-250ms} timeout=${TIMEOUT:-20s}
grace=15 # of the time, for a step that is interrupted to write what it has
end=$(($(date +%s) + ${MINUTES:-9} * 60 - grace))
mkdir -p "$results" || exit

step() { # NAME COMMAND...: the command until it is done or the time is up, begun or continued
  name=$1
  shift
  left=$((end - $(date +%s)))
  if [ -e "$results/$name.done" ]; then
    echo "$name: measured before"
    return
  fi
  if [ "$left" -le 0 ]; then
    echo "$name: no time left; call again to go on"
    unmeasured=1
    return
  fi
  [ -e "$results/$name.begun" ] && set -- "$@" --resume
  touch "$results/$name.begun"
  echo "$name: $left s left"
  # An interrupt, and not an end: what has been measured is written, and how to go on.
  timeout --foreground --signal=INT --kill-after=$grace "$left" $seqsweep "$@" \
    --device "$device" --results "$results" --budget "$budget" --timeout "$timeout" >"$results/$name.txt"
  code=$?
  tail -n 3 "$results/$name.txt"
  case $code in
  0 | 4) touch "$results/$name.done" ;; # 4: a case is incorrect, and says so in the records
  2) unmeasured=1 && rm -f "$results/$name.begun" ;; # refused, as where there is nothing to go on with
  *) unmeasured=1 ;; # 3: nothing was measured
  esac
}

unmeasured=0
step sparse run attention_gpu
step default run
step stages profile attention_gpu --seq 16Ki,64Ki --mode fwd
step longest run attention_gpu --mode fwd --seq 4Ki --max-seq
step given run attention_given_kernels --seq 16Ki,64Ki
[ "$device" != cuda ] || step replays run attention_gpu --mode fwd --seq 4Ki,16Ki --graphs
exit $unmeasured
