#!/bin/bash
#SBATCH --array=1-8
#SBATCH --exclusive
# One shard per task, each on its own node. Its results are copied to the shared folder when it ends.
# Submit with: sbatch docs/machines/slurm.sh attention topk
set -eu
shared=${SEQSWEEP_SHARED:-results/shards}
own=$(mktemp -d)
code=0
seqsweep run "$@" --shard "$SLURM_ARRAY_TASK_ID/${SLURM_ARRAY_TASK_COUNT:-8}" --results "$own" || code=$?
mkdir -p "$shared"
cp -r "$own" "$shared/$SLURM_ARRAY_TASK_ID"
exit "$code"
