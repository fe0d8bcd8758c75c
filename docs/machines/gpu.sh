#!/bin/sh
# Measure a GPU in a few minutes, most important first: `make gpu`, or `PYTHON=python3 docs/machines/gpu.sh`.
#
# It installs nothing and needs no network. It first prints what this Python and machine have and lack. Each
# step then prints its table and stores its runs in results/gpu. When the time is up, or on Ctrl-C, the running
# step is interrupted and its results so far are stored. The same command then continues. To keep runs
# permanently, copy them to results/reference.
#
# Environment: PYTHON (python3), SEQSWEEP (PYTHON and this checkout's cli.py), MINUTES (9), DEVICE (cuda),
# BUDGET (250ms of sampling per case), TIMEOUT (20s per step of a case), RESULTS (results/gpu).
# Exit code: 0 everything is measured, 1 steps are left, 2 a step is refused, 5 the machine lacks something,
# 130 after Ctrl-C.
set -u
here=$(dirname "$0")
python=${PYTHON:-python3} device=${DEVICE:-cuda} results=${RESULTS:-results/gpu}
budget=${BUDGET:-250ms} timeout=${TIMEOUT:-20s} minutes=${MINUTES:-9}
seqsweep=${SEQSWEEP:-$python $here/../../cli.py}
grace=15 # seconds for an interrupted step to write its results
case $minutes in *[!0-9]* | '') echo "MINUTES=$minutes: use whole minutes, for example MINUTES=9" && exit 2 ;; esac
[ $# -eq 0 ] || { echo "gpu.sh takes no arguments: $*; use variables, for example MINUTES=9" && exit 2; }
[ "${seqsweep#*cli.py}" = "$seqsweep" ] || python=${seqsweep%% *}
"$python" "$here/gpu_check.py" "$device" || exit
mkdir -p "$results" || exit 5
end=$(($(date +%s) + minutes * 60 - grace))
left='' refused='' stopped=''
trap 'stopped=1' INT

go_on() {
  echo "stopped; the results so far are in $results. To continue, run the same command again"
  exit 130
}

step() { # NAME COMMAND...: start or resume the command, until it is done or the time is up
  name=$1
  shift
  [ -e "$results/$name.done" ] && echo "$name: measured before" && return
  seconds=$((end - $(date +%s)))
  [ "$seconds" -le 0 ] && left="$left $name" && return
  echo "
== $name: seqsweep $* ($seconds s left)"
  resume=''
  [ -e "$results/$name.begun" ] && resume=--resume
  touch "$results/$name.begun"
  # Interrupt instead of terminate, so that the results so far are written.
  timeout --foreground --signal=INT --kill-after=$grace "$seconds" $seqsweep "$@" $resume \
    --device "$device" --results "$results" --budget "$budget" --timeout "$timeout"
  code=$?
  [ "$stopped" ] || [ $code = 130 ] && go_on
  case $code in
  0 | 4) touch "$results/$name.done" ;; # 4: a case is incorrect; its record says why
  2) # refused, for example because the first try ended before there was a run to resume
    rm -f "$results/$name.begun"
    if [ "$resume" ]; then step "$name" "$@"; else refused="$refused $name"; fi
    ;;
  5) exit 5 ;;
  *) left="$left $name" ;; # 3: nothing was measured; 124: the time is up
  esac
}

flash='dense_sdpa[backend=flash]' cudnn='dense_sdpa[backend=cudnn]'
graphs=$([ "$device" = cuda ] && echo --graphs)
step sparse run attention_gpu --mode fwd --seq 4Ki,16Ki,64Ki --impl "$flash,$cudnn,triton_flash,triton_nsa"
step heads run attention_gpu --mode fwd --seq 4Ki,16Ki --set heads=64 --set kv_heads=4 \
  --impl "$flash,$cudnn,triton_flash,triton_nsa,triton_nsa_fla"
step topk run topk --seq 64Ki,128Ki --impl exact,torch_topk,triton_radix_select,triton_two_stage,approx
step mask run mask
step offsets run offsets
step mla run mla
step backward run attention_gpu --mode fwd_bwd --seq 4Ki,16Ki --impl "$flash,triton_flash,triton_nsa"
step stages profile attention_gpu --mode fwd --seq 16Ki,64Ki --impl triton_nsa
step given run attention_given_kernels --seq 16Ki,64Ki
step rest run attention mla_bwd attention_bwd
step decode run attention_decode --set dtype=bf16 $graphs

echo
[ "$refused" ] && echo "refused:$refused; each reason is printed above" && exit 2
[ "$left" ] && echo "left to measure:$left; to continue, run the same command again" && exit 1
echo "all steps are measured; seqsweep show --results $results prints the newest run, runs lists all"
